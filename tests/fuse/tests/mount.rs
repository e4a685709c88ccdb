//! What a test sees of such a mount.

use std::fs;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::sync::mpsc::channel;
use std::thread;
use std::time::Duration;

use fuse_mount::{Entry, LISTING, Mount};

#[test]
#[ignore = "needs root and FUSE: ci/test has them"]
fn entries_are_listed_and_are_what_they_were_made() {
    let mount = Mount::new([
        ("file", Entry::File),
        ("directory", Entry::Directory),
        ("device", Entry::CharDevice(195, 255)),
        ("broken", Entry::Fails(5)),
    ]);
    let listed = fs::read_dir(mount.path()).unwrap();
    let mut names: Vec<_> = listed.map(|entry| entry.unwrap().file_name()).collect();
    names.sort();
    assert_eq!(names, ["broken", "device", "directory", "file"]);
    let at = |name: &str| fs::symlink_metadata(mount.path().join(name));
    assert!(at("file").unwrap().is_file());
    assert!(at("directory").unwrap().is_dir());
    let device = at("device").unwrap();
    assert!(device.file_type().is_char_device());
    assert_eq!(device.rdev(), 195 << 8 | 255);
    assert_eq!(at("broken").unwrap_err().raw_os_error(), Some(5));
    assert_eq!(at("gone").unwrap_err().raw_os_error(), Some(2));
}

#[test]
#[ignore = "needs root and FUSE: ci/test has them"]
fn what_hangs_is_answered_when_it_is_released() {
    for hanging in ["file", LISTING] {
        let mount = Mount::new([("file", Entry::File)]);
        mount.hang(hanging);
        let (done, answered) = channel();
        let path = mount.path().to_owned();
        let reading = thread::spawn(move || {
            let listed = fs::read_dir(&path).unwrap().count();
            done.send((listed, fs::metadata(path.join("file")).is_ok()))
                .unwrap();
        });
        answered
            .recv_timeout(Duration::from_millis(50))
            .unwrap_err();
        assert_eq!(mount.held(), 1);
        mount.release();
        assert_eq!(answered.recv().unwrap(), (1, true));
        reading.join().unwrap();
    }
}
