//! Kubernetes' quantities: `500m`, `2`, `128Mi`, `1e3`.

use std::fmt;
use std::iter::Sum;

use serde::de::{Deserialize, Deserializer, Error, Visitor};

/// An amount, exact to the billionth of its unit as Kubernetes keeps it, and no more than it can count.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Quantity {
    nano: i128,
}

/// The most that Kubernetes counts.
const MAX: i128 = i64::MAX as i128 * NANO;
const NANO: i128 = 1_000_000_000;

/// More digits than the most has.
const MAX_DIGITS: usize = 20;

impl Quantity {
    /// Nothing.
    pub const ZERO: Self = Self { nano: 0 };

    /// The amount in thousandths, as CPU is counted, rounded up as Kubernetes does.
    #[must_use]
    pub fn milli(self) -> i64 {
        self.divided(NANO / 1000)
    }

    /// The amount in whole units, rounded up.
    #[must_use]
    pub fn units(self) -> i64 {
        self.divided(NANO)
    }

    /// How often the divisor is in it, rounded up. A divisor of 0 is 1.
    #[must_use]
    pub fn per(self, divisor: Self) -> i64 {
        self.divided(match divisor.nano {
            0 => NANO,
            nano => nano,
        })
    }

    fn divided(self, by: i128) -> i64 {
        let up = i128::from(self.nano % by != 0 && (self.nano > 0) == (by > 0));
        i64::try_from(self.nano / by + up).unwrap_or(i64::MAX)
    }

    /// That many whole units.
    #[must_use]
    pub fn of_units(units: i64) -> Self {
        Self {
            nano: i128::from(units) * NANO,
        }
    }

    /// Reads what a manifest writes, by the rules of the API server.
    pub(super) fn parse(text: &str) -> Option<Self> {
        let (negative, unsigned) = match text.as_bytes().first()? {
            b'-' => (true, &text[1..]),
            b'+' => (false, &text[1..]),
            _ => (false, text),
        };
        let number_ends = unsigned.find(|c: char| !(c.is_ascii_digit() || c == '.'));
        let (number, suffix) = unsigned.split_at(number_ends.unwrap_or(unsigned.len()));
        let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
        if whole.len() + fraction.len() == 0 || fraction.contains('.') {
            return None;
        }
        let nano = nano(whole.trim_start_matches('0'), fraction, factor(suffix)?);
        let nano = nano.unwrap_or(MAX).min(MAX);
        Some(Self {
            nano: if negative { -nano } else { nano },
        })
    }
}

/// The number times the factor in billionths, rounded up; nothing where it is more than can be counted.
fn nano(whole: &str, fraction: &str, Factor { two, ten }: Factor) -> Option<i128> {
    let room = MAX_DIGITS.checked_sub(whole.len())?;
    let (digits, rest) = fraction.split_at(fraction.len().min(room));
    let cut = rest.bytes().any(|digit| digit != b'0');
    let all = format!("0{whole}{digits}");
    // Twenty digits times 2^60 are less than 2^127.
    let value = all.parse::<i128>().ok()? << two;
    let power = i64::from(ten) + 9 - i64::try_from(digits.len()).ok()?;
    let magnitude = 10i128.checked_pow(u32::try_from(power.unsigned_abs()).unwrap_or(u32::MAX));
    let (value, up) = match (power < 0, magnitude) {
        _ if value == 0 => (0, cut),
        (false, magnitude) => (value.checked_mul(magnitude?)?, cut),
        (true, Some(magnitude)) => (value / magnitude, cut || value % magnitude != 0),
        (true, None) => (0, true),
    };
    value.checked_add(up.into())
}

/// What a suffix stands for: a power of two times a power of ten.
struct Factor {
    two: u32,
    ten: i32,
}

fn factor(suffix: &str) -> Option<Factor> {
    let ten = |ten| Some(Factor { two: 0, ten });
    let two = |two| Some(Factor { two, ten: 0 });
    match suffix {
        "n" => ten(-9),
        "u" => ten(-6),
        "m" => ten(-3),
        "" => ten(0),
        "k" => ten(3),
        "M" => ten(6),
        "G" => ten(9),
        "T" => ten(12),
        "P" => ten(15),
        "E" => ten(18),
        "Ki" => two(10),
        "Mi" => two(20),
        "Gi" => two(30),
        "Ti" => two(40),
        "Pi" => two(50),
        "Ei" => two(60),
        _ => {
            let exponent: i64 = suffix.strip_prefix(['e', 'E'])?.parse().ok()?;
            // Beyond a thousand there is only too much, and next to nothing.
            ten(i32::try_from(exponent.clamp(-1000, 1000)).ok()?)
        }
    }
}

impl Sum for Quantity {
    fn sum<I: Iterator<Item = Self>>(all: I) -> Self {
        let nano = all.fold(0, |sum: i128, one| sum + one.nano);
        Self {
            nano: nano.min(MAX),
        }
    }
}

impl<'de> Deserialize<'de> for Quantity {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Reader)
    }
}

/// Manifests write quantities as text and as plain numbers.
struct Reader;

impl Visitor<'_> for Reader {
    type Value = Quantity;

    fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("a quantity such as 500m, 2 or 128Mi")
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Quantity, E> {
        Quantity::parse(text)
            .ok_or_else(|| E::invalid_value(serde::de::Unexpected::Str(text), &self))
    }

    fn visit_u64<E: Error>(self, units: u64) -> Result<Quantity, E> {
        self.visit_str(&units.to_string())
    }

    fn visit_i64<E: Error>(self, units: i64) -> Result<Quantity, E> {
        self.visit_str(&units.to_string())
    }

    fn visit_f64<E: Error>(self, units: f64) -> Result<Quantity, E> {
        self.visit_str(&units.to_string())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn suffixes_are_powers_of_ten_and_of_1024() {
        for (text, milli) in [
            ("0", 0),
            ("500m", 500),
            ("0.1", 100),
            (".5", 500),
            ("1.", 1000),
            ("+2", 2000),
            ("-1", -1000),
            ("1e3", 1_000_000),
            ("1E3", 1_000_000),
            ("1e-3", 1),
            ("3k", 3_000_000),
            ("128Mi", 134_217_728_000),
            ("12Ti", 13_194_139_533_312_000),
            ("0.5Gi", 536_870_912_000),
            ("1n", 1),
            ("1e-9999", 1),
            ("0.00000000000000000000000000000000001", 1),
        ] {
            assert_eq!(Quantity::parse(text).unwrap().milli(), milli, "{text}");
        }
    }

    #[test]
    fn more_than_can_be_counted_is_as_much_as_can() {
        for text in [
            "9Ei",
            "1e9999",
            "99999999999999999999999999999",
            "9223372036854775807",
        ] {
            assert_eq!(Quantity::parse(text).unwrap().units(), i64::MAX, "{text}");
        }
    }

    #[test]
    fn parts_of_a_unit_are_rounded_up() {
        assert_eq!(Quantity::parse("1500m").unwrap().units(), 2);
        assert_eq!(Quantity::parse("2").unwrap().units(), 2);
        assert_eq!(Quantity::parse("-1500m").unwrap().units(), -1);
        let mebi = Quantity::parse("1Mi").unwrap();
        assert_eq!(Quantity::of_units(25_276_059_648).per(mebi), 24_106);
    }

    #[test]
    fn what_is_no_quantity_is_refused() {
        for text in [
            "", "x", "1x", "Mi", "1 Mi", "1e", "--1", "1_000", ".", "1.2.3", "1mi", "1K", "0x10",
            "é",
        ] {
            assert_eq!(Quantity::parse(text), None, "{text}");
        }
    }

    #[test]
    fn numbers_and_text_read_alike() {
        for json in ["2", "2.0", "\"2\"", "\"2000m\""] {
            let quantity: Quantity = serde_json::from_str(json).unwrap();
            assert_eq!(quantity.units(), 2, "{json}");
        }
    }
}
