//! Paths as text.

/// The shortest path that means the same, without looking at the disk, as Go's `filepath.Clean` makes it.
pub(crate) fn clean(path: &str) -> String {
    let absolute = path.starts_with('/');
    let mut parts: Vec<&str> = Vec::new();
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." if parts.last().is_some_and(|last| *last != "..") => {
                parts.pop();
            }
            ".." if absolute => {}
            part => parts.push(part),
        }
    }
    let parts = parts.join("/");
    match (absolute, parts.is_empty()) {
        (true, _) => format!("/{parts}"),
        (false, true) => ".".to_owned(),
        (false, false) => parts,
    }
}
