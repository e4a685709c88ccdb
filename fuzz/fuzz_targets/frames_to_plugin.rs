#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| fuzzed::frames_to_plugin(data));
