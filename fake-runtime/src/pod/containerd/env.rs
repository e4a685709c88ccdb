//! The variables of a container.

use super::DEFAULT_PATH;
use crate::pod::cri::{Container, Sandbox};
use crate::pod::image::Image;
use crate::pod::node::Node;

/// containerd's own, the image's, the Pod's. What containerd sets is replaced in its place; every other name may stand
/// there twice.
pub(super) fn of(
    sandbox: &Sandbox,
    container: &Container,
    image: &Image,
    node: &Node,
) -> Vec<String> {
    let hostname = match sandbox.hostname.as_str() {
        "" => &node.name,
        hostname => hostname,
    };
    let mut env = vec![format!("PATH={DEFAULT_PATH}")];
    env.extend(container.tty.then(|| "TERM=xterm".to_owned()));
    env.push(format!("HOSTNAME={hostname}"));
    let own = env.len();
    let of_image = image.env.iter().flatten().cloned();
    let of_pod = container.env.iter();
    let of_pod = of_pod.map(|(key, value)| format!("{key}={value}"));
    for item in of_image.chain(of_pod) {
        let name = name(&item).to_owned();
        match env[..own].iter().position(|it| self::name(it) == name) {
            Some(place) => env[place] = item,
            None => env.push(item),
        }
    }
    env
}

fn name(item: &str) -> &str {
    item.split('=').next().unwrap_or_default()
}
