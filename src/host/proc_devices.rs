//! The kernel's list of registered drivers, `/proc/devices`.

use std::collections::BTreeMap;

/// The names registered for each character device major. One major can have several.
#[derive(Debug, Default)]
pub(super) struct CharDrivers {
    names: BTreeMap<u32, Vec<String>>,
}

impl CharDrivers {
    /// Reads the part of the list that is about character devices; lines of another form are passed over.
    pub(super) fn parse(text: &str) -> Self {
        let mut names: BTreeMap<u32, Vec<String>> = BTreeMap::new();
        let lines = text
            .lines()
            .skip_while(|line| *line != "Character devices:");
        for line in lines.take_while(|line| *line != "Block devices:") {
            if let Some((major, name)) = line.trim().split_once(' ')
                && let Ok(major) = major.parse()
            {
                names.entry(major).or_default().push(name.trim().to_owned());
            }
        }
        Self { names }
    }

    /// The names registered for `major`.
    pub(super) fn of(&self, major: u32) -> &[String] {
        self.names.get(&major).map_or(&[], Vec::as_slice)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_character_devices_are_read() {
        let drivers = CharDrivers::parse(
            "Character devices:\n  1 mem\n  4 /dev/vc/0\n195 nvidia\n195 nvidiactl\n511 nvidia-uvm\n\n\
             Block devices:\n  8 sd\n195 nvidia-block\n",
        );
        assert_eq!(drivers.of(1), ["mem"]);
        assert_eq!(drivers.of(195), ["nvidia", "nvidiactl"]);
        assert_eq!(drivers.of(511), ["nvidia-uvm"]);
        assert!(drivers.of(8).is_empty());
    }

    #[test]
    fn a_list_of_another_form_names_no_driver() {
        for text in [
            "",
            "195 nvidia\n",
            "Character devices:\nnvidia\n-1 x\n99999999999 y\n",
        ] {
            assert!(CharDrivers::parse(text).of(195).is_empty(), "{text:?}");
        }
    }
}
