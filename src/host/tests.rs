//! The host's view of real directories. Device nodes are borrowed from `/dev`, so that no test needs root.

use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};

use fuse_mount::{Entry as Made, Mount};
use tracing::level_filters::LevelFilter;

use super::*;
use crate::logging::Format;
use crate::logging::tests::Logged;

fn path(path: impl AsRef<std::path::Path>) -> AbsolutePath {
    AbsolutePath::new(path.as_ref().to_str().unwrap()).unwrap()
}

#[test]
fn entries_are_told_apart_from_directories_without_following_links() {
    let directory = tempfile::tempdir().unwrap();
    let at = |name: &str| directory.path().join(name);
    fs::create_dir(at("directory")).unwrap();
    fs::write(at("file"), "").unwrap();
    symlink("directory", at("link")).unwrap();
    symlink("nowhere", at("dangling")).unwrap();

    let mut entries = Host::new().entries(&path(directory.path())).unwrap();
    entries.sort_by(|a, b| a.name.cmp(&b.name));
    let entry = |name: &str, is_directory| Entry {
        name: name.to_owned(),
        is_directory,
    };
    let expected = [
        entry("dangling", false),
        entry("directory", true),
        entry("file", false),
        entry("link", false),
    ];
    assert_eq!(entries, expected);
}

#[test]
#[ignore = "needs root and FUSE: ci/test has them"]
fn where_a_listing_tells_no_types_one_bad_entry_costs_no_other() {
    let mount = Mount::new([
        ("nvidia0", Made::CharDevice(195, 0)),
        ("nvidia1", Made::Fails(libc::EIO)),
        ("nvidia2", Made::Fails(libc::ESTALE)),
        ("nvidia3", Made::Fails(libc::ENOENT)),
        ("nvidia-caps", Made::Directory),
        ("nvidiactl", Made::CharDevice(195, 255)),
    ]);
    let found = Host::new().nodes(&path(mount.path()), &|entry| !entry.is_directory);
    let mut found = found.unwrap();
    found.sort_unstable_by(|(name, _), (other, _)| name.cmp(other));
    let found = found.into_iter().map(|(name, node)| {
        let kind = node.map(|node| node.kind).map_err(|error| error.kind());
        (name, kind.ok())
    });
    let device = |minor| Some(NodeKind::CharDevice { major: 195, minor });
    let expected = [
        ("nvidia0", device(0)),
        ("nvidia1", None),
        ("nvidia2", None),
        ("nvidia3", None),
        ("nvidiactl", device(255)),
    ];
    let expected = expected.map(|(name, kind)| (name.to_owned(), kind));
    assert_eq!(found.collect::<Vec<_>>(), expected);
}

#[test]
fn the_nodes_of_a_directory_are_what_each_of_its_paths_leads_to() {
    let directory = tempfile::tempdir().unwrap();
    symlink("/dev/null", directory.path().join("null")).unwrap();
    symlink("nowhere", directory.path().join("gone")).unwrap();
    fs::write(directory.path().join("other"), "").unwrap();
    let (host, directory) = (Host::new(), path(directory.path()));
    let found = host.nodes(&directory, &|entry| entry.name != "other");
    let mut found = found.unwrap();
    found.sort_unstable_by(|(name, _), (other, _)| name.cmp(other));
    let [(gone, nothing), (null, node)] = &found[..] else {
        panic!("{found:?}")
    };
    assert_eq!((gone.as_str(), null.as_str()), ("gone", "null"));
    assert_eq!(
        nothing.as_ref().unwrap_err().kind(),
        io::ErrorKind::NotFound
    );
    assert_eq!(
        *node.as_ref().unwrap(),
        host.node(&directory.join("null")).unwrap()
    );
}

#[test]
fn a_directory_that_cannot_be_listed_is_an_error_that_says_why() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("file");
    fs::write(&file, "").unwrap();
    let kind = |path: &AbsolutePath| Host::new().entries(path).unwrap_err().kind();
    assert_eq!(
        kind(&path(directory.path().join("gone"))),
        io::ErrorKind::NotFound
    );
    assert_eq!(kind(&path(file)), io::ErrorKind::NotADirectory);
}

#[test]
fn a_node_is_what_its_links_lead_to() {
    let directory = tempfile::tempdir().unwrap();
    let at = |name: &str| directory.path().join(name);
    symlink("/dev/null", at("device")).unwrap();
    symlink("device", at("device2")).unwrap();
    symlink("/", at("directory")).unwrap();
    symlink("nowhere", at("dangling")).unwrap();
    symlink("loop", at("loop")).unwrap();
    fs::write(at("file"), "").unwrap();
    let node = |name: &str| Host::new().node(&path(at(name)));

    let null = Host::new().node(&path("/dev/null")).unwrap();
    assert_eq!(null.kind, NodeKind::CharDevice { major: 1, minor: 3 });
    assert_eq!(node("device2").unwrap(), null);
    assert_eq!(node("directory").unwrap().kind, NodeKind::Directory);
    assert_eq!(node("file").unwrap().kind, NodeKind::File);
    assert_eq!(
        node("dangling").unwrap_err().kind(),
        io::ErrorKind::NotFound
    );
    assert!(node("loop").is_err());
    assert!(node("file/below").is_err());
}

#[test]
fn what_is_neither_directory_nor_file_nor_character_device_is_something_else() {
    let directory = tempfile::tempdir().unwrap();
    let socket = directory.path().join("socket");
    let _listener = std::os::unix::net::UnixListener::bind(&socket).unwrap();
    assert_eq!(
        Host::new().node(&path(socket)).unwrap().kind,
        NodeKind::Other
    );
}

#[test]
fn a_node_has_its_permission_bits_and_owners() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("file");
    fs::write(&file, "").unwrap();
    fs::set_permissions(&file, fs::Permissions::from_mode(0o1640)).unwrap();
    let node = Host::new().node(&path(&file)).unwrap();
    assert_eq!(node.mode, 0o640);
    let owner = fs::metadata(&file).unwrap();
    assert_eq!((node.uid, node.gid), (owner.uid(), owner.gid()));
}

#[test]
fn k8s_test_infra_439_device_numbers_are_decoded_over_all_64_bits() {
    for (dev, major, minor) in [
        (0x0000_0000_0000_0103, 1, 3),
        (0x0000_0000_0000_c3ff, 195, 255),
        (0x0000_0000_0010_c300, 195, 256),
        (0x0000_1000_0000_0000, 4096, 0),
        (0xffff_f000_0000_0000, 0xffff_f000, 0),
        (0x0000_0fff_fff0_00ff, 0, u32::MAX),
        (u64::MAX, u32::MAX, u32::MAX),
    ] {
        assert_eq!(
            numbers(dev),
            NodeKind::CharDevice { major, minor },
            "{dev:#x}"
        );
    }
}

#[test]
fn the_kernel_drivers_are_read_again_only_when_they_are_five_seconds_old() {
    let directory = tempfile::tempdir().unwrap();
    let list = directory.path().join("devices");
    let host = Host::with_proc_devices(&list);
    let start = Instant::now();
    let at = |seconds| host.nvidia_majors_at(start + Duration::from_secs(seconds));
    let nvidia = BTreeSet::from([195]);
    assert!(at(0).is_empty());

    fs::write(&list, "Character devices:\n195 nvidia\n").unwrap();
    assert!(at(4).is_empty());
    assert_eq!(*at(5), nvidia);

    fs::remove_file(&list).unwrap();
    assert_eq!(*at(9), nvidia);
    assert!(at(10).is_empty());
}

#[test]
fn a_driver_with_an_odd_name_hides_no_other() {
    let directory = tempfile::tempdir().unwrap();
    let list = directory.path().join("devices");
    fs::write(&list, b"Character devices:\n 10 \xff\n195 nvidia\n").unwrap();
    let host = Host::with_proc_devices(list);
    assert_eq!(*host.nvidia_majors(), BTreeSet::from([195]));
}

#[test]
fn a_list_of_drivers_that_cannot_be_read_is_warned_of_once() {
    let logged = Logged::new(LevelFilter::WARN, Format::Json);
    let host = Host::with_proc_devices("/nowhere/devices");
    let now = Instant::now();
    for seconds in [0, 10, 20] {
        let majors = host.nvidia_majors_at(now + Duration::from_secs(seconds));
        assert!(majors.is_empty());
    }
    let text = logged.text();
    assert_eq!(text.lines().count(), 1, "{text}");
    assert!(text.contains("/nowhere/devices"), "{text}");
}
