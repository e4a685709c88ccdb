//! The kernel's list of registered drivers, `/proc/devices`.

use std::collections::BTreeSet;

/// The character device majors that have a driver whose name starts with `nvidia`. One major can have several drivers;
/// lines of another form are passed over.
pub(super) fn nvidia_majors(text: &str) -> BTreeSet<u32> {
    let lines = text
        .lines()
        .skip_while(|line| *line != "Character devices:");
    let lines = lines.take_while(|line| *line != "Block devices:");
    let drivers = lines.filter_map(|line| line.trim().split_once(' '));
    let nvidia = drivers.filter(|(_, name)| name.trim().starts_with("nvidia"));
    nvidia.filter_map(|(major, _)| major.parse().ok()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_character_devices_of_nvidia_are_read() {
        let majors = nvidia_majors(
            "Character devices:\n  1 mem\n  4 /dev/vc/0\n195 nvidia\n195 nvidiactl\n196 my-nvidia\n  7 nvidia-uvm\n\n\
             Block devices:\n  8 sd\n199 nvidia-block\n",
        );
        assert_eq!(majors, BTreeSet::from([7, 195]));
    }

    #[test]
    fn a_list_of_another_form_names_no_driver() {
        for text in [
            "",
            "195 nvidia\n",
            "Character devices:\nnvidia\n-1 nvidia\n99999999999 nvidia\n",
        ] {
            assert!(nvidia_majors(text).is_empty(), "{text:?}");
        }
    }
}
