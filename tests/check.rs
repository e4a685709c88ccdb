//! The plugin passes the conformance run that any NRI plugin can be put to.

use fake_runtime::check::{Check, Outcome, Subject};
use fake_runtime::profile;

#[tokio::test]
async fn every_check_passes_on_every_version() {
    for profile in profile::ALL {
        let subject = Subject::new(env!("CARGO_BIN_EXE_nri-plugin"))
            .args(["--health-addr="])
            .profile(profile);
        let asked = |check: &Check| *check != Check::SplitSynchronize || profile.splits_synchronize;
        for check in Check::ALL.into_iter().filter(asked) {
            let outcome = check.run(&subject).await;
            let passed = matches!(outcome, Outcome::Passed(_));
            assert!(passed, "{check} on {}: {outcome:?}", profile.name);
        }
    }
}
