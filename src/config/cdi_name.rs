//! The form of a fully qualified CDI device name, as the CDI specification has it.

use super::error::Cause;

/// Checks that `name` is `vendor/class=device`: ASCII letters, digits and `_ - .`, in a device also `:`, with
/// a letter first (in a device a letter or digit) and a letter or digit last.
pub(super) fn check(name: &str) -> Result<(), Cause> {
    let (kind, device) = name.split_once('=').ok_or(missing("device"))?;
    let (vendor, class) = kind.split_once('/').ok_or(missing("class"))?;
    part("vendor", vendor, |first| first.is_ascii_alphabetic(), "_-.")?;
    part("class", class, |first| first.is_ascii_alphabetic(), "_-.")?;
    part(
        "device",
        device,
        |first| first.is_ascii_alphanumeric(),
        "_-.:",
    )
}

fn missing(part: &'static str) -> Cause {
    Cause::CdiDeviceName {
        part,
        fault: "is missing",
    }
}

fn part(
    part: &'static str,
    text: &str,
    may_start: impl Fn(char) -> bool,
    between: &str,
) -> Result<(), Cause> {
    let fault = |fault| Err(Cause::CdiDeviceName { part, fault });
    let Some((first, last)) = text.chars().next().zip(text.chars().last()) else {
        return Err(missing(part));
    };
    if text.contains(|c: char| !c.is_ascii_alphanumeric() && !between.contains(c)) {
        return fault("holds a character that is not allowed");
    }
    if !may_start(first) || !last.is_ascii_alphanumeric() {
        return fault("starts or ends with a character that is not allowed there");
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn well_formed_names_are_taken() {
        for name in [
            "nvml-mock.nvidia.com/gpu=all",
            "v/c=0",
            "v.io/c_1.x=GPU-0:1",
            "vendor.com/class=x",
        ] {
            assert_eq!(check(name), Ok(()), "{name}");
        }
    }

    #[test]
    fn the_part_that_is_wrong_is_named() {
        const CHARACTER: &str = "holds a character that is not allowed";
        const EDGE: &str = "starts or ends with a character that is not allowed there";
        for (name, part, fault) in [
            ("", "device", "is missing"),
            ("bad", "device", "is missing"),
            ("gpu=all", "class", "is missing"),
            ("/gpu=all", "vendor", "is missing"),
            ("v/=all", "class", "is missing"),
            ("v/c=", "device", "is missing"),
            ("1v/c=d", "vendor", EDGE),
            ("v./c=d", "vendor", EDGE),
            ("v/c=-x", "device", EDGE),
            ("v/c=a,b", "device", CHARACTER),
            ("v/c=a=b", "device", CHARACTER),
            ("v/c/d=x", "class", CHARACTER),
            ("v/c:d=x", "class", CHARACTER),
            ("v/c=ü", "device", CHARACTER),
            (" v/c=d", "vendor", CHARACTER),
        ] {
            assert_eq!(
                check(name),
                Err(Cause::CdiDeviceName { part, fault }),
                "{name}"
            );
        }
    }
}
