//! The inputs that fuzzing found worth keeping still break no promise. Here without libFuzzer, so that every
//! `cargo test` does this much.

use std::fs;
use std::panic::catch_unwind;
use std::path::Path;

fn hold(target: &str, promise: fn(&[u8])) {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus");
    let inputs = fs::read_dir(corpus.join(target)).expect("it has a corpus");
    let mut count = 0;
    for input in inputs {
        let path = input.expect("it can be listed").path();
        let data = fs::read(&path).expect("it can be read");
        let held = catch_unwind(|| promise(&data));
        assert!(held.is_ok(), "{} breaks it", path.display());
        count += 1;
    }
    assert!(count > 0, "{target} has an empty corpus");
}

macro_rules! known_inputs_break_no_promise {
    ($($target:ident)*) => {$(
        #[test]
        fn $target() {
            hold(stringify!($target), fuzzed::$target);
        }
    )*};
}

known_inputs_break_no_promise! {
    cdi_spec
    create_container
    feature_gates
    flags
    frames_from_plugin
    frames_to_plugin
    manifest
    recorded_row
    recording
    scenario
}
