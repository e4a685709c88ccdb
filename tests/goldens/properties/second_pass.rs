//! What was given once is not given again.

use fake_runtime::create::{Answer, create};
use fake_runtime::host::Host;
use fake_runtime::profile;
use nri_plugin::decide::Outcome;
use nri_proto::api::CreateContainerRequest;
use proptest::prelude::*;
use proptest::sample::select;

use super::cases;
use crate::arbitrary::{container, pod, valid_command_line, world};
use crate::{plugin, spec};

proptest! {
    #![proptest_config(cases(800))]

    /// Two copies of the plugin can be alive at once: the second is asked about what the first made.
    #[test]
    fn a_second_pass_changes_nothing(
        command_line in valid_command_line(),
        world in world(),
        pod in pod(),
        container in container(),
        profile in select(profile::ALL.iter().collect::<Vec<_>>()),
    ) {
        let config = plugin::start(&command_line).unwrap();
        let request = plugin::request(pod.as_ref(), container.as_ref());
        let Some(adjustment) = plugin::answer(&config, &world, &request).adjustment else {
            return Ok(());
        };
        let answers = [
            ("10-first".to_owned(), Answer::Adjust(Box::new(adjustment))),
            ("10-second".to_owned(), Answer::Lost("it only looks".into())),
        ];
        let before = spec::before(container.as_ref());
        let request = CreateContainerRequest { pod: pod.clone(), container };
        let seen = create(profile, request, before, &answers, &Host::default()).requests;
        let second = plugin::request(pod.as_ref(), seen[1].container.as_ref());

        let again = plugin::answer(&config, &world, &second);

        prop_assert!(matches!(again.outcome, Outcome::Unmodified(_)), "{:?}", again.outcome);
    }
}
