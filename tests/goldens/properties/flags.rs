//! A flag and its environment variable are the same.

use nri_model::CommandLine;
use proptest::prelude::*;
use proptest::sample::select;

use super::cases;
use crate::arbitrary::{FLAGS, both_ways, text};
use crate::plugin;

proptest! {
    #![proptest_config(cases(1500))]

    #[test]
    fn a_flag_equals_its_environment_variable(
        flag in select((0..FLAGS.len()).collect::<Vec<_>>()),
        value in any::<prop::sample::Index>(),
        odd in prop::option::weighted(0.3, text()),
    ) {
        let flag = &FLAGS[flag];
        let values = [flag.good, flag.bad].concat();
        let value = odd.unwrap_or_else(|| values[value.index(values.len())].to_owned());
        let [argument, variable] = both_ways(flag, &value).map(|command_line| plugin::start(&command_line));
        prop_assert_eq!(argument.as_ref().ok(), variable.as_ref().ok());
        prop_assert_eq!(argument.is_err(), variable.is_err());
    }

    #[test]
    fn a_flag_wins_over_its_environment_variable(
        flag in select((0..FLAGS.len()).collect::<Vec<_>>()),
        value in any::<prop::sample::Index>(),
        other in any::<prop::sample::Index>(),
    ) {
        let flag = &FLAGS[flag];
        // Also a variable that would keep the process from starting is not even looked at.
        let values = [flag.good, flag.bad].concat();
        let [mut both, _] = both_ways(flag, flag.good[value.index(flag.good.len())]);
        let alone = plugin::start(&both);
        both.environment.insert(flag.variable.clone(), values[other.index(values.len())].into());
        prop_assert_eq!(plugin::start(&both), alone);
    }

    #[test]
    fn no_command_line_panics(arguments in prop::collection::vec(text(), 0..5)) {
        let _ = plugin::start(&CommandLine { arguments, ..Default::default() });
    }
}
