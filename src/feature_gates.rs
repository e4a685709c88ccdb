//! Feature gates, with Kubernetes' syntax and rules.

use std::collections::BTreeMap;
use std::fmt;

use crate::flags::boolean;
use crate::logging::on_one_line;

/// A behaviour that can be switched before its default is settled.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Gate {
    /// Leave a container alone whose overlay is not staged, instead of mounting what is missing.
    RequireStagedOverlay,
    /// Never hand out a node whose number belongs to a real NVIDIA driver of this kernel, nor a CDI name beside one.
    RealDriverGuard,
}

/// How settled a gate is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    Alpha,
    Beta,
}

impl Stage {
    /// The name that stands for every gate of the stage.
    fn group(self) -> &'static str {
        match self {
            Self::Alpha => "AllAlpha",
            Self::Beta => "AllBeta",
        }
    }
}

/// What is known of a gate.
struct Spec {
    gate: Gate,
    name: &'static str,
    stage: Stage,
    default: bool,
    /// Whether the default is final: saying the same is allowed, a change is not.
    locked: bool,
}

const SPECS: [Spec; 2] = [
    Spec {
        gate: Gate::RequireStagedOverlay,
        name: "RequireStagedOverlay",
        stage: Stage::Alpha,
        default: false,
        locked: false,
    },
    Spec {
        gate: Gate::RealDriverGuard,
        name: "RealDriverGuard",
        stage: Stage::Beta,
        default: true,
        locked: false,
    },
];

/// The state of every gate.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FeatureGates {
    states: BTreeMap<Gate, bool>,
}

impl FeatureGates {
    /// Reads `Name=true,Other=false`. The last value of a name wins, and a gate's own value wins over its
    /// stage's; gates that are not named keep their default.
    ///
    /// # Errors
    ///
    /// The first item that names no gate, holds no boolean, or changes a locked gate.
    pub fn parse(text: &str) -> Result<Self, FeatureGateError> {
        Self::resolve(&SPECS, text)
    }

    fn resolve(specs: &[Spec], text: &str) -> Result<Self, FeatureGateError> {
        let mut given = BTreeMap::new();
        for item in text
            .split(',')
            .map(str::trim)
            .filter(|item| !item.is_empty())
        {
            let (name, value) = read(item)?;
            check(specs, name, value)?;
            given.insert(name, value);
        }
        let state = |spec: &Spec| {
            let of_stage = given.get(spec.stage.group()).filter(|_| !spec.locked);
            let value = given.get(spec.name).or(of_stage);
            (spec.gate, value.copied().unwrap_or(spec.default))
        };
        Ok(Self {
            states: specs.iter().map(state).collect(),
        })
    }

    /// Whether `gate` is on.
    pub fn enabled(&self, gate: Gate) -> bool {
        self.states.get(&gate).copied().unwrap_or_default()
    }

    /// Every gate's name and state.
    pub fn states(&self) -> impl Iterator<Item = (&'static str, bool)> {
        SPECS
            .iter()
            .map(|spec| (spec.name, self.enabled(spec.gate)))
    }
}

impl fmt::Display for FeatureGates {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let states = self.states().map(|(name, state)| format!("{name}={state}"));
        out.write_str(&states.collect::<Vec<_>>().join(","))
    }
}

/// Splits one item into name and value.
fn read(item: &str) -> Result<(&str, bool), FeatureGateError> {
    let (name, value) = item.split_once('=').unwrap_or((item, ""));
    let (name, value) = (name.trim(), value.trim());
    if !item.contains('=') {
        return Err(FeatureGateError::MissingValue {
            name: name.to_owned(),
        });
    }
    match boolean::parse(value) {
        Some(value) => Ok((name, value)),
        None => Err(FeatureGateError::NotBoolean {
            name: name.to_owned(),
            value: value.to_owned(),
        }),
    }
}

/// Whether a gate, or a stage, may be given this value.
fn check(specs: &[Spec], name: &str, value: bool) -> Result<(), FeatureGateError> {
    if [Stage::Alpha, Stage::Beta]
        .iter()
        .any(|stage| stage.group() == name)
    {
        return Ok(());
    }
    match specs.iter().find(|spec| spec.name == name) {
        None => Err(FeatureGateError::Unrecognized {
            name: name.to_owned(),
        }),
        Some(spec) if spec.locked && value != spec.default => Err(FeatureGateError::Locked {
            name: name.to_owned(),
            locked_to: spec.default,
        }),
        Some(_) => Ok(()),
    }
}

/// Why a list of feature gates is refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FeatureGateError {
    /// The item has no `=`.
    #[error("missing boolean value for feature gate: {}", on_one_line(name))]
    MissingValue {
        /// The gate.
        name: String,
    },
    /// The value is not a boolean.
    #[error(
        "invalid value for feature gate {}: {value:?} is not true or false",
        on_one_line(name)
    )]
    NotBoolean {
        /// The gate.
        name: String,
        /// The value.
        value: String,
    },
    /// There is no such gate. Names are case-sensitive.
    #[error("unrecognized feature gate: {}", on_one_line(name))]
    Unrecognized {
        /// The name.
        name: String,
    },
    /// The gate's value is final.
    #[error("cannot change feature gate {name}: it is locked to {locked_to}")]
    Locked {
        /// The gate.
        name: String,
        /// Its value.
        locked_to: bool,
    },
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> (bool, bool) {
        let gates = FeatureGates::parse(text).unwrap();
        (
            gates.enabled(Gate::RequireStagedOverlay),
            gates.enabled(Gate::RealDriverGuard),
        )
    }

    fn error(text: &str) -> String {
        FeatureGates::parse(text).unwrap_err().to_string()
    }

    #[test]
    fn gates_that_are_not_named_keep_their_default() {
        for text in [
            "",
            ",",
            " , ,",
            "RequireStagedOverlay=false",
            "RealDriverGuard=true",
        ] {
            assert_eq!(parse(text), (false, true), "{text:?}");
        }
    }

    #[test]
    fn the_last_value_of_a_name_wins() {
        assert_eq!(
            parse("RealDriverGuard=false,RealDriverGuard=true"),
            (false, true)
        );
        assert_eq!(
            parse("RealDriverGuard=true,RealDriverGuard=false"),
            (false, false)
        );
    }

    #[test]
    fn blanks_around_items_do_not_matter() {
        assert_eq!(
            parse(" RequireStagedOverlay = T ,\n RealDriverGuard= 0 "),
            (true, false)
        );
    }

    #[test]
    fn a_stage_sets_the_default_of_its_gates_only() {
        assert_eq!(parse("AllBeta=false"), (false, false));
        assert_eq!(parse("AllAlpha=false"), (false, true));
        assert_eq!(parse("AllAlpha=true"), (true, true));
        assert_eq!(parse("AllAlpha=true,AllBeta=false"), (true, false));
    }

    #[test]
    fn a_gate_overrides_its_stage_in_either_order() {
        assert_eq!(parse("AllBeta=false,RealDriverGuard=true"), (false, true));
        assert_eq!(
            parse("RequireStagedOverlay=false,AllAlpha=true"),
            (false, true)
        );
        assert_eq!(parse("RealDriverGuard=true,AllBeta=false"), (false, true));
    }

    #[test]
    fn names_are_case_sensitive() {
        assert_eq!(
            error("realDriverGuard=true"),
            "unrecognized feature gate: realDriverGuard"
        );
        assert_eq!(
            error("allAlpha=true"),
            "unrecognized feature gate: allAlpha"
        );
    }

    #[test]
    fn an_item_that_cannot_be_read_is_named() {
        assert_eq!(
            error("RealDriverGuard"),
            "missing boolean value for feature gate: RealDriverGuard"
        );
        assert_eq!(
            error("AllAlpha=true, RealDriverGuard = yes"),
            r#"invalid value for feature gate RealDriverGuard: "yes" is not true or false"#
        );
        assert_eq!(
            error("RealDriverGuard=true=false"),
            r#"invalid value for feature gate RealDriverGuard: "true=false" is not true or false"#
        );
        assert_eq!(error("=true"), "unrecognized feature gate: ");
        assert_eq!(error("Nope=true"), "unrecognized feature gate: Nope");
    }

    #[test]
    fn whatever_an_item_holds_its_error_is_one_line() {
        for (text, line) in [
            ("a\nb=true", r"unrecognized feature gate: a\nb"),
            (
                "\u{1b}[1m",
                r"missing boolean value for feature gate: \u{1b}[1m",
            ),
            (
                "a\rb=c\rd",
                r#"invalid value for feature gate a\rb: "c\rd" is not true or false"#,
            ),
        ] {
            assert_eq!(error(text), line);
        }
    }

    #[test]
    fn a_locked_gate_takes_no_other_value_and_ignores_its_stage() {
        let specs = [Spec {
            gate: Gate::RealDriverGuard,
            name: "Settled",
            stage: Stage::Beta,
            default: true,
            locked: true,
        }];
        let enabled = |text| {
            FeatureGates::resolve(&specs, text).map(|gates| gates.enabled(Gate::RealDriverGuard))
        };
        assert_eq!(enabled("Settled=true"), Ok(true));
        assert_eq!(enabled("AllBeta=false"), Ok(true));
        assert_eq!(
            enabled("Settled=false").unwrap_err().to_string(),
            "cannot change feature gate Settled: it is locked to true"
        );
    }

    #[test]
    fn every_gate_is_listed_with_its_state() {
        let gates = FeatureGates::parse("RequireStagedOverlay=true").unwrap();
        let states: Vec<_> = gates.states().collect();
        assert_eq!(
            states,
            [("RequireStagedOverlay", true), ("RealDriverGuard", true)]
        );
    }
}
