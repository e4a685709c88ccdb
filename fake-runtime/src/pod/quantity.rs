//! Kubernetes' quantities: `500m`, `2`, `128Mi`, `1e3`.

use std::fmt;
use std::iter::Sum;

use serde::de::{Deserialize, Deserializer, Error, Visitor};

/// An amount, in thousandths of its unit: fine enough for every quantity that reaches a runtime.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Quantity {
    milli: i64,
}

impl Quantity {
    /// The amount in thousandths, as CPU is counted.
    #[must_use]
    pub const fn milli(self) -> i64 {
        self.milli
    }

    /// The amount in whole units, rounded up as Kubernetes does.
    #[must_use]
    pub const fn units(self) -> i64 {
        self.milli.div_euclid(1000) + (self.milli.rem_euclid(1000) != 0) as i64
    }

    fn parse(text: &str) -> Option<Self> {
        let digits = text
            .find(|c: char| !(c.is_ascii_digit() || c == '.' || c == '+' || c == '-'))
            .unwrap_or(text.len());
        let (number, suffix) = text.split_at(digits);
        let number: f64 = number.parse().ok()?;
        Self::from_units(number * factor(suffix)?)
    }

    #[expect(
        clippy::cast_possible_truncation,
        reason = "the line before refuses what does not fit"
    )]
    fn from_units(units: f64) -> Option<Self> {
        let milli = (units * 1000.0).ceil();
        // 2^53 thousandths: beyond it a float is no longer exact, and no machine has that much of anything.
        (milli.abs() < 9_007_199_254_740_992.0).then_some(Self {
            milli: milli as i64,
        })
    }
}

fn factor(suffix: &str) -> Option<f64> {
    let exponent = suffix.strip_prefix(['e', 'E']);
    Some(match suffix {
        "" => 1.0,
        "n" => 1e-9,
        "u" => 1e-6,
        "m" => 1e-3,
        "k" => 1e3,
        "M" => 1e6,
        "G" => 1e9,
        "T" => 1e12,
        "P" => 1e15,
        "E" => 1e18,
        "Ki" => 1024.0,
        "Mi" => 1024f64.powi(2),
        "Gi" => 1024f64.powi(3),
        "Ti" => 1024f64.powi(4),
        "Pi" => 1024f64.powi(5),
        "Ei" => 1024f64.powi(6),
        _ => 10f64.powi(exponent?.parse().ok()?),
    })
}

impl Sum for Quantity {
    fn sum<I: Iterator<Item = Self>>(all: I) -> Self {
        let milli = all.fold(0, |sum: i64, one| sum.saturating_add(one.milli));
        Self { milli }
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
            ("2", 2000),
            ("1e3", 1_000_000),
            ("3k", 3_000_000),
            ("128Mi", 134_217_728_000),
            ("1n", 1),
        ] {
            assert_eq!(Quantity::parse(text).unwrap().milli(), milli, "{text}");
        }
    }

    #[test]
    fn parts_of_a_unit_are_rounded_up() {
        assert_eq!(Quantity::parse("1500m").unwrap().units(), 2);
        assert_eq!(Quantity::parse("2").unwrap().units(), 2);
    }

    #[test]
    fn what_is_no_quantity_is_refused() {
        for text in ["", "x", "1x", "Mi", "1 Mi", "1e", "1E9999", "--1"] {
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
