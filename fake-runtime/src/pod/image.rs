//! Images, as far as containers take something from them.

use std::collections::BTreeMap;
use std::path::Path;

use serde::Deserialize;
use serde_json::{Map, Value};

/// What an image sets for its containers: the `config` of an OCI image configuration.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct Image {
    /// Variables, as `KEY=value`.
    pub env: Option<Vec<String>>,
    /// What it runs.
    pub entrypoint: Option<Vec<String>>,
    /// What that is given.
    pub cmd: Option<Vec<String>>,
    /// Labels.
    pub labels: Option<BTreeMap<String, String>>,
    /// Paths that are volumes.
    #[serde(deserialize_with = "paths")]
    pub volumes: Vec<String>,
    /// The digest under which a registry has it: `sha256:…`.
    #[serde(skip)]
    pub digest: Option<String>,
}

/// The images that are known, by name.
#[derive(Clone, Debug, Default)]
pub struct Images(BTreeMap<String, Image>);

/// Of Docker, a map whose values are empty; some write a list.
fn paths<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<Vec<String>, D::Error> {
    Ok(match Option::<Value>::deserialize(deserializer)? {
        Some(Value::Object(paths)) => paths.into_iter().map(|(path, _)| path).collect(),
        Some(list @ Value::Array(_)) => serde_json::from_value(list).unwrap_or_default(),
        _ => Vec::new(),
    })
}

impl Image {
    /// Reads an OCI image configuration, or only the `config` in it; also what `docker inspect` prints.
    ///
    /// # Errors
    ///
    /// It is none.
    pub fn parse(text: &str) -> Result<Self, serde_json::Error> {
        let mut document: Value = serde_json::from_str(text)?;
        if let Some(first) = document.get_mut(0) {
            document = first.take();
        }
        for key in ["config", "Config"] {
            if let Some(config) = document.get_mut(key) {
                return Self::deserialize(config.take());
            }
        }
        Self::deserialize(document)
    }
}

impl Images {
    /// Adds an image under a name.
    pub fn insert(&mut self, name: &str, image: Image) {
        self.0.insert(full(name), image);
    }

    /// Takes all of the others in.
    pub fn extend(&mut self, others: Self) {
        self.0.extend(others.0);
    }

    /// The image of a name, by tag or by digest, and its first full name.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<(&str, &Image)> {
        let name = full(name);
        let by_digest = || {
            let (repository, digest) = name.split_once('@')?;
            self.0.iter().find(|(tagged, image)| {
                image.digest.as_deref() == Some(digest)
                    && repository_of(tagged) == repository_of(repository)
            })
        };
        let found = self.0.get_key_value(&name).or_else(by_digest)?;
        Some((found.0, found.1))
    }

    /// The digest of an image, without its algorithm.
    pub(super) fn digest(&self, name: &str) -> Option<String> {
        let of_name = name.split_once('@').map(|(_, digest)| digest.to_owned());
        let digest = of_name.or_else(|| self.get(name)?.1.digest.clone())?;
        Some(digest.rsplit(':').next()?.to_owned())
    }

    /// The configuration that lies beside a manifest: `images/localhost_busybox_e2e.json` for `localhost/busybox:e2e`.
    pub fn find_beside(&mut self, manifest: &Path, name: &str) {
        if self.get(name).is_some() {
            return;
        }
        let file = format!("{}.json", name.replace(['/', ':', '@'], "_"));
        let beside = manifest.with_file_name("images").join(file);
        let text = std::fs::read_to_string(beside).ok();
        if let Some(image) = text.and_then(|text| Image::parse(&text).ok()) {
            self.insert(name, image);
        }
    }

    /// Those that a node lists; what it does not tell of one is as if the image did not set it.
    pub(super) fn of_node(listed: Map<String, Value>) -> Self {
        let image = |(name, mut image): (String, Value)| {
            let digest = image["digest"].as_str().map(str::to_owned);
            if !image["Labels"].is_object() {
                image["Labels"] = Value::Null;
            }
            let image = Image::deserialize(image).unwrap_or_default();
            (full(&name), Image { digest, ..image })
        };
        Self(listed.into_iter().map(image).collect())
    }
}

/// A name with its registry and its tag: `docker.io/library/busybox:latest` of `busybox`.
#[must_use]
pub fn full(name: &str) -> String {
    let first = name.split('/').next().unwrap_or_default();
    let has_registry = name.contains('/') && (first.contains(['.', ':']) || first == "localhost");
    let mut full = match (has_registry, name.contains('/')) {
        (true, _) => name.to_owned(),
        (false, true) => format!("docker.io/{name}"),
        (false, false) => format!("docker.io/library/{name}"),
    };
    if repository_of(&full) == full {
        full += ":latest";
    }
    full
}

/// A name without tag and digest.
fn repository_of(name: &str) -> &str {
    let name = name.split('@').next().unwrap_or_default();
    let after_host = name.rfind('/').map_or(0, |slash| slash + 1);
    match name[after_host..].find(':') {
        Some(colon) => &name[..after_host + colon],
        None => name,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_completed_as_the_runtime_does() {
        for (name, complete) in [
            ("busybox", "docker.io/library/busybox:latest"),
            ("org/app:1", "docker.io/org/app:1"),
            ("localhost/busybox:e2e", "localhost/busybox:e2e"),
            ("host:5000/app", "host:5000/app:latest"),
            (
                "nvcr.io/nvidia/cuda@sha256:ab",
                "nvcr.io/nvidia/cuda@sha256:ab",
            ),
        ] {
            assert_eq!(full(name), complete);
        }
    }

    #[test]
    fn a_configuration_is_read_in_each_of_its_forms() {
        let config =
            r#"{"Env": ["A=1"], "Cmd": ["sh"], "Entrypoint": null, "Volumes": {"/data": {}}}"#;
        for text in [
            config.to_owned(),
            format!(r#"{{"architecture": "amd64", "config": {config}}}"#),
            format!(r#"[{{"Id": "x", "Config": {config}}}]"#),
        ] {
            let image = Image::parse(&text).unwrap();
            assert_eq!(image.env.unwrap(), ["A=1"], "{text}");
            assert_eq!(image.volumes, ["/data"], "{text}");
        }
        assert!(Image::parse("[]x").is_err());
    }

    #[test]
    fn a_digest_leads_to_the_tagged_name() {
        let listed = serde_json::json!({"localhost/a:1": {"digest": "sha256:ab", "Env": ["A=1"]}});
        let Value::Object(listed) = listed else {
            unreachable!("an object was written")
        };
        let images = Images::of_node(listed);
        assert_eq!(
            images.get("localhost/a@sha256:ab").unwrap().0,
            "localhost/a:1"
        );
        assert!(images.get("localhost/b@sha256:ab").is_none());
    }
}
