//! Device numbers as the kernel has them.

use std::os::unix::fs::MetadataExt;

use nri_plugin::decide::{NodeKind, Staged};
use nri_plugin::host::Host;
use nri_plugin::path::AbsolutePath;
use proptest::prelude::*;
use rustix::fs::{CWD, FileType, Mode, makedev, mknodat};

use super::cases;

proptest! {
    #![proptest_config(cases(200))]

    #[test]
    #[ignore = "makes device nodes, so it needs root: ci/test has it"]
    fn k8s_test_infra_439_a_node_has_the_numbers_that_it_was_made_with(
        // What Linux has room for.
        major in 0..1_u32 << 12,
        minor in 0..1_u32 << 20,
    ) {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("node");
        mknodat(CWD, &path, FileType::CharacterDevice, Mode::RWXU, makedev(major, minor)).unwrap();
        let node = Host::new().node(&AbsolutePath::new(path.to_str().unwrap()).unwrap()).unwrap();
        prop_assert_eq!(node.kind, NodeKind::CharDevice { major, minor });
        let device = std::fs::metadata(path).unwrap().rdev();
        prop_assert_eq!((libc::major(device), libc::minor(device)), (major, minor));
    }
}
