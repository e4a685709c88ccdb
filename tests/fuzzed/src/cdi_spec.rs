//! CDI specs.

use fake_runtime::api::{self, ContainerAdjustment, CreateContainerRequest};
use fake_runtime::cdi::{CdiSpec, Registry};
use fake_runtime::create::{Answer, create};
use fake_runtime::host::Host;
use fake_runtime::oci::Spec;
use fake_runtime::profile;

use crate::assert_one_line;

/// A spec, behind a byte that chooses the containerd that injects its devices. It is read as JSON and as YAML.
pub fn cdi_spec(data: &[u8]) {
    let Some((version, text)) = data.split_first() else {
        return;
    };
    let Ok(text) = str::from_utf8(text) else {
        return;
    };
    let spec = match (CdiSpec::from_json(text), CdiSpec::from_yaml(text)) {
        (Ok(json), Ok(yaml)) => {
            assert_eq!(json, yaml);
            yaml
        }
        (Ok(spec), Err(error)) | (Err(error), Ok(spec)) => {
            assert_one_line(error);
            spec
        }
        (Err(json), Err(yaml)) => {
            assert_one_line(json);
            return assert_one_line(yaml);
        }
    };
    inject(usize::from(*version), spec);
}

fn inject(version: usize, spec: CdiSpec) {
    let profile = &profile::ALL[version % profile::ALL.len()];
    let devices = spec.devices.iter();
    let names: Vec<_> = devices
        .map(|device| format!("{}={}", spec.kind, device.name))
        .collect();
    let cdi = Registry::from(vec![spec]);
    if let Err(unresolved) = cdi.resolve(&names) {
        assert!(unresolved.iter().all(|name| names.contains(name)));
    }
    let devices = names.into_iter().map(|name| api::CdiDevice { name });
    let answer = ContainerAdjustment {
        cdi_devices: devices.collect(),
        ..ContainerAdjustment::default()
    };
    let before = Spec::of(&api::Container::default(), profile);
    let host = Host {
        cdi,
        ..Host::default()
    };
    let answers = [("10-plugin".to_owned(), Answer::Adjust(Box::new(answer)))];
    let request = CreateContainerRequest::default();
    // An error is in containerd's words, control characters included.
    if let Ok((_, spec)) = create(profile, request, before, &answers, &host).result {
        serde_json::to_value(spec).expect("a spec has a JSON form");
    }
}
