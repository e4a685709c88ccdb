//! Lexical path cleaning, as Go's `filepath.Clean` does it.

/// The shortest path that names the same place, without a look at the disk.
pub fn clean(path: &str) -> String {
    let rooted = path.starts_with('/');
    let mut kept: Vec<&str> = Vec::new();
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." => match kept.last() {
                Some(&last) if last != ".." => {
                    kept.pop();
                }
                // Above the root is the root; above a relative path is one `..` more.
                _ if rooted => {}
                _ => kept.push(".."),
            },
            name => kept.push(name),
        }
    }
    match (rooted, kept.is_empty()) {
        (true, _) => format!("/{}", kept.join("/")),
        (false, true) => ".".into(),
        (false, false) => kept.join("/"),
    }
}

/// `below` under `base`, cleaned.
pub fn join(base: &str, below: &str) -> String {
    clean(&format!("{base}/{below}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cleaned_path_is_the_shortest_name_of_the_same_place() {
        for (path, cleaned) in [
            ("", "."),
            ("/", "/"),
            ("//a//b/", "/a/b"),
            ("/a/./b/../c", "/a/c"),
            ("/../..", "/"),
            ("a/../..", ".."),
            ("../a", "../a"),
            ("./a", "a"),
        ] {
            assert_eq!(clean(path), cleaned, "{path:?}");
        }
    }
}
