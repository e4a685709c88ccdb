//! The environment, key by key.

use super::super::environment::overlay;
use super::*;

const GPU: Surfaces = Surfaces {
    gpu: Some(Gpu::Allocated),
    infiniband: false,
    imex: false,
};
const INFINIBAND: Surfaces = Surfaces {
    gpu: None,
    infiniband: true,
    imex: false,
};

fn config() -> Config {
    Config::resolve(Flags {
        overlay_mount_path: Some("/m".to_owned()),
        ld_preload_shims: Some(vec!["a.so,/b.so".to_owned()]),
        node_name: Some("n1".to_owned()),
        ..Flags::default()
    })
    .unwrap()
}

/// What changes, as `KEY=value` items.
fn changed(surfaces: Surfaces, own: &[&str]) -> Vec<String> {
    let own: Vec<String> = own.iter().map(|item| (*item).to_owned()).collect();
    let environment = overlay(
        &config(),
        surfaces,
        &Tree::staged().with_topology(),
        &own,
        RUNTIME,
    );
    let item = |(key, value)| format!("{key}={value}");
    environment.changed.into_iter().map(item).collect()
}

/// The change of one key.
fn change(key: &str, surfaces: Surfaces, own: &[&str]) -> Option<String> {
    let start = format!("{key}=");
    changed(surfaces, own)
        .into_iter()
        .find_map(|item| item.strip_prefix(&start).map(str::to_owned))
}

#[test]
fn a_gpu_container_with_an_empty_environment_gets_the_whole_table_in_its_order() {
    assert_eq!(
        changed(GPU, &[]),
        [
            "PATH=/m/driver/usr/bin",
            "LD_LIBRARY_PATH=/m/driver/usr/lib64",
            "LD_PRELOAD=/m/a.so:/b.so",
            "MOCK_NVML_CONFIG=/m/driver/config/config.yaml",
            "MOCK_PCI_ROOT=/m",
            "GFD_MACHINE_TYPE_FILE=/m/driver/config/machine-type",
            "NODE_NAME=n1",
            "MOCK_TOPOLOGY_CONFIG=/m/topology/topology.yaml",
            "MOCK_IB=off",
        ]
    );
}

#[test]
fn an_infiniband_container_is_told_that_it_has_no_gpu() {
    assert_eq!(
        changed(INFINIBAND, &[]),
        [
            "PATH=/m/driver/usr/bin",
            "LD_LIBRARY_PATH=/m/driver/usr/lib64",
            "LD_PRELOAD=/m/a.so:/b.so",
            "MOCK_NVML_VISIBLE_DEVICES=none",
            "MOCK_IB=full",
            "MOCK_IB_ROOT=/m/ib",
            "MOCK_IB_PING_SOCKET=/m/run/mock-ib.sock",
        ]
    );
}

#[test]
fn a_container_with_both_has_neither_denial() {
    let both = Surfaces {
        infiniband: true,
        ..GPU
    };
    assert_eq!(change("MOCK_NVML_VISIBLE_DEVICES", both, &[]), None);
    assert_eq!(change("MOCK_IB", both, &[]).as_deref(), Some("full"));
    assert_eq!(changed(both, &[]).len(), 11);
}

#[test]
fn search_paths_go_in_front_and_preloads_behind() {
    let own = [
        "PATH=/usr/bin:/bin",
        "LD_LIBRARY_PATH=/lib",
        "LD_PRELOAD=/own.so",
    ];
    assert_eq!(
        changed(GPU, &own)[..3],
        [
            "PATH=/m/driver/usr/bin:/usr/bin:/bin",
            "LD_LIBRARY_PATH=/m/driver/usr/lib64:/lib",
            "LD_PRELOAD=/own.so:/m/a.so:/b.so",
        ]
    );
}

#[test]
fn an_empty_search_path_counts_as_unset() {
    let own = ["PATH=", "LD_LIBRARY_PATH=", "LD_PRELOAD="];
    assert_eq!(changed(GPU, &own)[..3], changed(GPU, &[])[..3]);
}

#[test]
fn a_value_that_the_container_sets_is_kept_even_when_it_is_empty() {
    for key in [
        "MOCK_NVML_CONFIG",
        "MOCK_PCI_ROOT",
        "GFD_MACHINE_TYPE_FILE",
        "NODE_NAME",
        "MOCK_TOPOLOGY_CONFIG",
    ] {
        assert_eq!(change(key, GPU, &[&format!("{key}=")]), None, "{key}");
    }
    for key in ["MOCK_IB", "MOCK_IB_ROOT", "MOCK_IB_PING_SOCKET"] {
        assert_eq!(
            change(key, INFINIBAND, &[&format!("{key}=own")]),
            None,
            "{key}"
        );
    }
}

#[test]
fn what_is_not_selected_is_denied_over_the_container_own_value() {
    assert_eq!(
        change("MOCK_IB", GPU, &["MOCK_IB=full"]).as_deref(),
        Some("off")
    );
    let own = ["MOCK_NVML_VISIBLE_DEVICES=all"];
    assert_eq!(
        change("MOCK_NVML_VISIBLE_DEVICES", INFINIBAND, &own).as_deref(),
        Some("none")
    );
}

#[test]
fn a_key_that_stays_as_it_is_is_not_claimed() {
    assert_eq!(change("MOCK_IB", GPU, &["MOCK_IB=off"]), None);
    let own = ["MOCK_NVML_VISIBLE_DEVICES=none"];
    assert_eq!(change("MOCK_NVML_VISIBLE_DEVICES", INFINIBAND, &own), None);
}

#[test]
fn the_container_own_keys_come_first_and_in_its_order() {
    let own = ["MOCK_IB=on", "HOME=/", "LD_PRELOAD=/x", "PATH=/bin"];
    let keys: Vec<String> = changed(GPU, &own)
        .into_iter()
        .filter_map(|item| Some(item.split_once('=')?.0.to_owned()))
        .take(4)
        .collect();
    assert_eq!(keys, ["MOCK_IB", "LD_PRELOAD", "PATH", "LD_LIBRARY_PATH"]);
}

#[test]
fn of_a_repeated_key_the_last_value_counts_at_the_place_of_the_first() {
    let own = ["LD_PRELOAD=/1", "PATH=/bin", "LD_PRELOAD=/2"];
    assert_eq!(
        changed(GPU, &own)[..2],
        ["LD_PRELOAD=/2:/m/a.so:/b.so", "PATH=/m/driver/usr/bin:/bin"]
    );
    assert_eq!(
        change("PATH", GPU, &["PATH=/bin", "PATH="]).as_deref(),
        Some("/m/driver/usr/bin")
    );
}

#[test]
fn an_item_without_an_equals_sign_sets_nothing() {
    let own = ["PATH", "MOCK_PCI_ROOT", "path=/x", " PATH=/x"];
    assert_eq!(changed(GPU, &own), changed(GPU, &[]));
}

#[test]
fn only_repeated_keys_that_change_are_told() {
    let own = [
        "PATH=/1",
        "PATH=/2",
        "MOCK_IB=off",
        "MOCK_IB=off",
        "HOME=/",
        "HOME=/",
    ];
    let own: Vec<String> = own.iter().map(|item| (*item).to_owned()).collect();
    assert_eq!(
        overlay(&config(), GPU, &Tree::staged(), &own, RUNTIME).repeated,
        ["PATH"]
    );
}

#[test]
fn a_path_that_stands_twice_on_cri_o_is_said_once_for_all_containers() {
    let own = ["PATH=/a", "MOCK_IB=1", "PATH=/b", "MOCK_IB=2"].map(str::to_owned);
    let cri_o = Runtime::identify("cri-o", "1.37.0");
    let environment = overlay(&config(), GPU, &Tree::staged(), &own, cri_o);
    assert_eq!(environment.repeated, ["MOCK_IB"]);
    let path = ("PATH".to_owned(), "/m/driver/usr/bin:/b".to_owned());
    assert_eq!(environment.changed[0], path);
}
