//! What real containerd asked about, and what becomes of each of those containers.

use std::fmt::Write;
use std::path::Path;

use fake_runtime::changes::changes;
use fake_runtime::create::{Answer, create};
use fake_runtime::host::Host;
use fake_runtime::jsonl;
use fake_runtime::profile::Profile;
use insta::assert_snapshot;
use nri_model::tree::{Node, Tree};
use nri_model::{CommandLine, Runtime, World};
use nri_proto::api::CreateContainerRequest;
use serde_json::Value;

use crate::{goldens, plugin, spec};

#[test]
fn every_recorded_container_becomes_what_is_written_down() {
    let _goldens = goldens::in_directory("recordings");
    for version in ["1.7.24", "2.1.9", "2.2.7", "2.3.4"] {
        let mut text = String::new();
        for (case, request) in recorded(version) {
            writeln!(text, "{case}\n{}", answered(version, request)).unwrap();
        }
        assert_snapshot!(format!("containerd-{version}"), text);
    }
}

fn answered(version: &str, request: CreateContainerRequest) -> String {
    let arguments = vec!["--node-name=node-1".to_owned()];
    let config = plugin::start(&CommandLine {
        arguments,
        ..Default::default()
    })
    .unwrap();
    let bytes = plugin::request(request.pod.as_ref(), request.container.as_ref());
    let answered = plugin::answer(&config, &world(version), &bytes);
    let Some(adjustment) = answered.adjustment else {
        return format!("    {:?}\n", answered.outcome);
    };
    let before = spec::before(request.container.as_ref());
    let answers = [(
        "10-nvml-mock".to_owned(),
        Answer::Adjust(Box::new(adjustment)),
    )];
    let profile = Profile::find(version).unwrap();
    let outcome = create(profile, request, before.clone(), &answers, &Host::default());
    let (_, after) = outcome.result.expect("an answer that the runtime takes");
    changes(&before, &after)
        .iter()
        .map(|change| format!("    {change}\n"))
        .collect()
}

fn world(version: &str) -> World {
    let mut tree = Tree::default();
    let overlay = |below: &str| format!("/var/lib/nvml-mock/{below}");
    tree.add(&overlay("driver/config"), Node::Directory);
    tree.add(&overlay("driver/dev/nvidia0"), Node::character(195, 0));
    tree.add(&overlay("driver/dev/nvidiactl"), Node::character(195, 255));
    tree.add(
        &overlay("driver/dev/nvidia-caps-imex-channels/channel0"),
        Node::character(234, 0),
    );
    tree.add(&overlay("ib/sys/class/infiniband/mlx5_0"), Node::Directory);
    tree.add(&overlay("topology/topology.yaml"), Node::File);
    World {
        tree,
        runtime: match version {
            "1.7.24" => Runtime::ContainerdBefore2_1,
            "2.1.9" => Runtime::Containerd2_1,
            _ => Runtime::Containerd2_2,
        },
        ..Default::default()
    }
}

/// The recorded requests, by the name of what was asked for.
fn recorded(version: &str) -> Vec<(String, CreateContainerRequest)> {
    let file = format!("tests/recorded/requests-containerd-{version}.jsonl.gz");
    let rows: Vec<Value> = jsonl::read(&Path::new(env!("CARGO_MANIFEST_DIR")).join(file)).unwrap();
    let asked = rows
        .into_iter()
        .filter(|row| row["rpc"] == "CreateContainer");
    let named = asked.map(|row| {
        let request = serde_json::from_value(row["request"].clone()).expect("a request");
        (
            row["container"].as_str().unwrap_or_default().to_owned(),
            request,
        )
    });
    named.collect()
}
