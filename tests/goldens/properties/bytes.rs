//! Whatever bytes come, nothing panics.

use nri_plugin::convert;
use nri_plugin::feature_gates::FeatureGates;
use proptest::prelude::*;

use super::cases;
use crate::arbitrary::{container, pod, world};
use crate::plugin;

proptest! {
    #![proptest_config(cases(1000))]

    #[test]
    fn cri_o_6642_a_damaged_request_is_an_error_or_a_request(
        world in world(),
        pod in pod(),
        container in container(),
        damage in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..6),
        cut in prop::option::of(any::<prop::sample::Index>()),
    ) {
        let config = plugin::start(&nri_model::CommandLine::default()).unwrap();
        let mut request = plugin::request(pod.as_ref(), container.as_ref());
        if !request.is_empty() {
            for (at, byte) in damage {
                let at = at.index(request.len());
                request[at] = byte;
            }
            request.truncate(cut.map_or(request.len(), |cut| cut.index(request.len())));
        }
        if convert::asked(&config, &request).is_ok() {
            plugin::answer(&config, &world, &request);
        }
    }

    #[test]
    fn any_bytes_are_an_error_or_a_request(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        let config = plugin::start(&nri_model::CommandLine::default()).unwrap();
        let _ = convert::asked(&config, &bytes);
    }

    #[test]
    fn any_text_is_an_error_or_feature_gates(text in ".{0,40}|([A-Za-z]{0,6}[=, ]{0,2}){0,6}") {
        let _ = FeatureGates::parse(&text);
    }
}
