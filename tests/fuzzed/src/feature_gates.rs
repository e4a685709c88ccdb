//! `--feature-gates`.

use nri_plugin::feature_gates::FeatureGates;

use crate::assert_one_line;

/// A list of feature gates, as typed.
pub fn feature_gates(data: &[u8]) {
    let Ok(text) = str::from_utf8(data) else {
        return;
    };
    let parsed = FeatureGates::parse(text);
    match &parsed {
        Ok(gates) => {
            let states = gates
                .states()
                .map(|(name, state)| format!("{name}={state}"));
            let written = states.collect::<Vec<_>>().join(",");
            assert_eq!(FeatureGates::parse(&written).as_ref(), Ok(gates));
        }
        Err(error) => assert_one_line(error),
    }
    // The last value of a name wins, so that saying everything again says nothing new.
    assert_eq!(FeatureGates::parse(&format!("{text},{text}")), parsed);
}
