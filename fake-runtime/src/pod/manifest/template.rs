//! Manifests that are to be rendered first.

use super::yaml::{At, Node};

/// Where a template engine's `{{ … }}` stands in what cannot be read as it is, or would make no sense.
pub(super) fn in_broken(text: &str) -> Option<At> {
    let lines = text.lines().zip(1..);
    let mut marked = lines.filter(|(line, _)| {
        let code = line.trim_start();
        !code.starts_with('#') && (code.contains("{{") || code.starts_with("{%"))
    });
    marked.next().map(|(_, line)| unrendered(line))
}

/// The same in the names of a Pod and its images, where it is well-formed but never meant.
pub(super) fn in_names(pod: &Node) -> Option<At> {
    let metadata = pod.get("metadata");
    let names = ["name", "generateName", "namespace"].map(|name| metadata?.get(name));
    let spec = pod.get("spec");
    let containers = ["initContainers", "containers"]
        .iter()
        .filter_map(|name| spec?.get(name))
        .flat_map(Node::items);
    let of_containers = containers.flat_map(|it| ["name", "image"].map(|name| it.get(name)));
    let mut all = names.into_iter().chain(of_containers).flatten();
    let marked = all.find(|node| node.text().is_some_and(|text| text.contains("{{")))?;
    Some(unrendered(marked.line))
}

fn unrendered(line: usize) -> At {
    let what = "an unrendered template ({{ … }}): render it first, as `helm template` does, \
                and give what comes of it";
    At::new(line, what)
}
