//! What follows from what was typed, and the line for each value that could not work.

use std::ffi::OsString;

use clap::CommandFactory as _;

use super::*;
use crate::feature_gates::Gate;
use crate::flags::Invocation;

fn flags(args: &[&str], environment: &[(&str, &str)]) -> Flags {
    let variable = |name: &str| {
        let (_, value) = environment.iter().find(|(known, _)| *known == name)?;
        Some(OsString::from(value))
    };
    match Flags::parse(args.iter().map(OsString::from), variable).unwrap() {
        Invocation::Run(flags) => *flags,
        Invocation::Print(text) => panic!("no flags but {text}"),
    }
}

fn resolve(args: &[&str]) -> Config {
    Config::resolve(flags(args, &[])).unwrap()
}

fn error(arg: &str) -> String {
    Config::resolve(flags(&[arg], &[])).unwrap_err().to_string()
}

fn path(path: &str) -> AbsolutePath {
    AbsolutePath::new(path).unwrap()
}

#[test]
fn without_flags_everything_has_its_documented_default() {
    let shim = |name: &str| format!("/opt/nvml-mock/driver/usr/local/lib/{name}.so.1");
    let expected = Config {
        feature_gates: FeatureGates::parse("").unwrap(),
        log_level: LevelFilter::INFO,
        log_format: logging::Format::Json,
        log_file: None,
        health_addr: Some(HealthAddr {
            host: String::new(),
            port: 8080,
        }),
        staging_gate: None,
        socket_path: "/var/run/nri/nri.sock".to_owned(),
        plugin_name: "mokka-nri-plugin".to_owned(),
        plugin_index: "10".to_owned(),
        excluded_namespaces: BTreeSet::from(["kube-system".to_owned()]),
        opt_out_annotation: "nvml-mock.nvidia.com/inject".to_owned(),
        overlay_host_path: path("/var/lib/nvml-mock"),
        overlay_mount_path: path("/opt/nvml-mock"),
        ld_preload_shims: [
            "libibmockumad",
            "libibmockverbs",
            "libibmocksys",
            "libmockfs",
        ]
        .map(shim)
        .to_vec(),
        node_name: None,
        topology_host_path: path("/var/lib/nvml-mock/topology/topology.yaml"),
        topology_mount_path: path("/opt/nvml-mock/topology/topology.yaml"),
        device_annotation: "nvml-mock.nvidia.com/devices".to_owned(),
        device_host_path: path("/var/lib/nvml-mock/driver/dev"),
        device_injection_mode: DeviceInjectionMode::Raw,
        cdi_device_name: "nvml-mock.nvidia.com/gpu=all".to_owned(),
        cdi_spec_host_path: path("/var/run/cdi/nvml-mock-nri.yaml"),
        infiniband_annotation: "nvml-mock.nvidia.com/infiniband".to_owned(),
        imex_channel_annotation: "nvml-mock.nvidia.com/imex-channels".to_owned(),
        imex_channel_host_path: path("/var/lib/nvml-mock/driver/dev/nvidia-caps-imex-channels"),
        compute_domain_staging: false,
    };
    assert_eq!(resolve(&[]), expected);
}

#[test]
fn all_of_it_can_be_said_by_a_command_line() {
    let gate = [
        "--agent-staged-url=http://agent/stagedz",
        "--staging-lock-path=/run/lock",
    ];
    for given in [&[][..], &gate, &["--node-name=n", "--health-addr="]] {
        let config = resolve(given);
        let said = config.command_line();
        let said: Vec<_> = said.iter().map(String::as_str).collect();
        assert_eq!(resolve(&said), config);

        let command = Flags::command();
        let flags = command
            .get_arguments()
            .filter(|arg| arg.get_env().is_some());
        let flags = flags.filter_map(clap::Arg::get_long);
        let said = said.iter().map(|arg| &arg[2..arg.find('=').unwrap()]);
        assert_eq!(said.collect::<Vec<_>>(), flags.collect::<Vec<_>>());
    }
}

#[test]
fn the_documented_command_line_is_the_default_but_for_its_name() {
    let config = resolve(&[
        "--socket-path=/var/run/nri/nri.sock",
        "--plugin-name=nvml-mock",
        "--plugin-index=10",
        "--overlay-host-path=/var/lib/nvml-mock",
        "--overlay-mount-path=/opt/nvml-mock",
        "--device-host-path=/var/lib/nvml-mock/driver/dev",
        "--opt-out-annotation=nvml-mock.nvidia.com/inject",
        "--device-annotation=nvml-mock.nvidia.com/devices",
        "--device-injection-mode=raw",
        "--cdi-spec-host-path=/var/run/cdi/nvml-mock-nri.yaml",
        "--imex-channel-annotation=nvml-mock.nvidia.com/imex-channels",
        "--imex-channel-host-path=/var/lib/nvml-mock/driver/dev/nvidia-caps-imex-channels",
        "--infiniband-annotation=nvml-mock.nvidia.com/infiniband",
        "--excluded-namespaces=mokka,kube-system",
        "--node-name=node-1",
        "--health-addr=:8080",
        "--log-level=info",
        "--log-format=json",
    ]);
    let expected = Config {
        plugin_name: "nvml-mock".to_owned(),
        excluded_namespaces: BTreeSet::from(["kube-system".to_owned(), "mokka".to_owned()]),
        node_name: Some("node-1".to_owned()),
        ..resolve(&[])
    };
    assert_eq!(config, expected);
}

#[test]
fn derived_paths_follow_what_the_overlay_flags_ended_up_being() {
    let config = resolve(&[
        "--overlay-host-path=/host//ov/",
        "--overlay-mount-path=/in/../ov",
        "--ld-preload-shims=a",
    ]);
    assert_eq!(config.device_host_path, path("/host/ov/driver/dev"));
    assert_eq!(
        config.topology_host_path,
        path("/host/ov/topology/topology.yaml")
    );
    assert_eq!(
        config.imex_channel_host_path,
        path("/host/ov/driver/dev/nvidia-caps-imex-channels")
    );
    assert_eq!(
        config.topology_mount_path,
        path("/ov/topology/topology.yaml")
    );
    assert_eq!(config.ld_preload_shims, ["/ov/a"]);
}

#[test]
fn a_derived_path_that_is_given_does_not_follow() {
    let config = resolve(&[
        "--overlay-host-path=/ov",
        "--overlay-mount-path=/m",
        "--device-host-path=/d",
        "--topology-host-path=/t",
        "--topology-mount-path=/t2/",
        "--imex-channel-host-path=/i/.",
    ]);
    assert_eq!(config.device_host_path, path("/d"));
    assert_eq!(config.topology_host_path, path("/t"));
    assert_eq!(config.topology_mount_path, path("/t2"));
    assert_eq!(config.imex_channel_host_path, path("/i"));
}

#[test]
fn an_empty_value_is_the_default_from_flag_and_variable_alike() {
    let off = ["--health-addr=", "--excluded-namespaces="];
    let all = [
        "--feature-gates=",
        "--log-level=",
        "--log-format=",
        "--agent-staged-url=",
        "--staging-lock-path=",
        "--socket-path=",
        "--plugin-name=",
        "--plugin-index=",
        "--opt-out-annotation=",
        "--overlay-host-path=",
        "--overlay-mount-path=",
        "--ld-preload-shims=",
        "--node-name=",
        "--topology-host-path=",
        "--topology-mount-path=",
        "--device-annotation=",
        "--device-host-path=",
        "--device-injection-mode=",
        "--cdi-device-name=",
        "--cdi-spec-host-path=",
        "--infiniband-annotation=",
        "--imex-channel-annotation=",
        "--imex-channel-host-path=",
        "--compute-domain-staging=",
    ];
    assert_eq!(resolve(&all), resolve(&[]));

    let expected = Config {
        health_addr: None,
        excluded_namespaces: BTreeSet::new(),
        ..resolve(&[])
    };
    assert_eq!(resolve(&off), expected);
    let variables = [
        ("MOKKA_NRI_HEALTH_ADDR", ""),
        ("MOKKA_NRI_EXCLUDED_NAMESPACES", ""),
        ("NODE_NAME", ""),
    ];
    assert_eq!(Config::resolve(flags(&[], &variables)), Ok(expected));
}

#[test]
fn items_of_a_list_are_trimmed_and_empty_ones_dropped() {
    let config = resolve(&[
        "--excluded-namespaces= a ,,b\n",
        "--excluded-namespaces=,",
        "--excluded-namespaces=c",
    ]);
    assert_eq!(
        config.excluded_namespaces,
        ["a", "b", "c"].map(str::to_owned).into()
    );
}

#[test]
fn shims_keep_their_order_and_absolute_ones_their_spelling() {
    let config = resolve(&[
        "--ld-preload-shims=b.so, ../x.so,/abs//y.so",
        "--ld-preload-shims=b.so",
    ]);
    assert_eq!(
        config.ld_preload_shims,
        [
            "/opt/nvml-mock/b.so",
            "/opt/x.so",
            "/abs//y.so",
            "/opt/nvml-mock/b.so"
        ]
    );
    assert_eq!(resolve(&["--ld-preload-shims=,,"]), resolve(&[]));
}

#[test]
fn levels_formats_and_modes_fold_ascii_case() {
    for (word, level) in [
        ("DEBUG", LevelFilter::DEBUG),
        ("Info", LevelFilter::INFO),
        ("warn", LevelFilter::WARN),
        ("WARNING", LevelFilter::WARN),
        ("error", LevelFilter::ERROR),
    ] {
        assert_eq!(resolve(&[&format!("--log-level={word}")]).log_level, level);
    }
    assert_eq!(
        resolve(&["--log-format=PLAIN"]).log_format,
        logging::Format::Plain
    );
    for mode in ["cdi", "CDI", " Cdi "] {
        let config = resolve(&[&format!("--device-injection-mode={mode}")]);
        assert_eq!(
            config.device_injection_mode,
            DeviceInjectionMode::Cdi,
            "{mode:?}"
        );
    }
}

#[test]
fn both_halves_of_the_staging_gate_make_one() {
    let config = resolve(&[
        "--agent-staged-url=http://agent:81/stagedz",
        "--staging-lock-path=/run/lock",
    ]);
    let gate = config.staging_gate.unwrap();
    assert_eq!(gate.url.to_string(), "http://agent:81/stagedz");
    assert_eq!(gate.lock_path, path("/run/lock"));
}

#[test]
fn the_staging_lock_is_checked_against_the_overlay_that_is_used() {
    let args = [
        "--agent-staged-url=http://agent",
        "--staging-lock-path=/ov/lock",
        "--overlay-host-path=/ov",
    ];
    assert!(Config::resolve(flags(&args[..2], &[])).is_ok());
    assert!(Config::resolve(flags(&args, &[])).is_err());
}

#[test]
fn a_relative_socket_path_is_cleaned_and_kept() {
    assert_eq!(
        resolve(&["--socket-path=./run//nri.sock"]).socket_path,
        "run/nri.sock"
    );
}

#[test]
fn the_switches_reach_the_configuration() {
    let config = resolve(&[
        "--compute-domain-staging",
        "--feature-gates=RealDriverGuard=false",
    ]);
    assert!(config.compute_domain_staging);
    assert!(!config.feature_gates.enabled(Gate::RealDriverGuard));
}

#[test]
fn a_path_must_be_absolute() {
    for flag in [
        "log-file",
        "overlay-host-path",
        "overlay-mount-path",
        "topology-host-path",
        "topology-mount-path",
        "device-host-path",
        "cdi-spec-host-path",
        "imex-channel-host-path",
    ] {
        for value in ["ov", ".", "../ov", " ", " /ov"] {
            assert_eq!(
                error(&format!("--{flag}={value}")),
                format!(
                    "invalid --{flag} {value:?}: \
                     not an absolute path, start it with /: programs with other working directories read it too"
                )
            );
        }
    }
}

#[test]
fn a_value_that_could_not_work_is_told_in_one_line_with_what_would() {
    for (arg, line) in [
        (
            "--feature-gates=Nope=true",
            r#"invalid --feature-gates "Nope=true": unrecognized feature gate: Nope"#,
        ),
        (
            "--log-level=loud",
            r#"invalid --log-level "loud": not one of debug, info, warn, warning, error"#,
        ),
        (
            "--log-level= info",
            r#"invalid --log-level " info": not one of debug, info, warn, warning, error"#,
        ),
        (
            "--log-format=text",
            r#"invalid --log-format "text": not one of json, plain"#,
        ),
        (
            "--health-addr=8080",
            r#"invalid --health-addr "8080": not an address, use host:port or :port with a port up to 65535"#,
        ),
        (
            "--plugin-name=a b",
            r#"invalid --plugin-name "a b": the runtime takes letters, digits and _ . + -"#,
        ),
        (
            "--plugin-index=100",
            r#"invalid --plugin-index "100": the runtime takes two digits, as in 10"#,
        ),
        (
            "--device-injection-mode=r\nw",
            r#"invalid --device-injection-mode "r\nw": not one of raw, cdi"#,
        ),
        (
            "--compute-domain-staging=yes",
            r#"invalid --compute-domain-staging "yes": not a boolean, use true or false"#,
        ),
        (
            "--compute-domain-staging= true",
            r#"invalid --compute-domain-staging " true": not a boolean, use true or false"#,
        ),
    ] {
        assert_eq!(error(arg), line);
    }
}

#[test]
fn a_plugin_name_is_what_every_runtime_takes() {
    assert_eq!(resolve(&["--plugin-name=a_B.9+-"]).plugin_name, "a_B.9+-");
    for name in ["a/b", "ü", "a\n", " "] {
        assert!(
            error(&format!("--plugin-name={name}")).starts_with("invalid --plugin-name"),
            "{name:?}"
        );
    }
}

#[test]
fn a_plugin_index_is_two_digits() {
    assert_eq!(resolve(&["--plugin-index=00"]).plugin_index, "00");
    for index in ["1", "a1", "-1", " 1", "١"] {
        assert!(
            error(&format!("--plugin-index={index}")).starts_with("invalid --plugin-index"),
            "{index:?}"
        );
    }
}

#[test]
fn a_cdi_device_name_is_checked_where_it_would_be_used() {
    let name = "--cdi-device-name=gpu";
    assert_eq!(resolve(&[name]).cdi_device_name, "gpu");
    let used = flags(&[name, "--device-injection-mode=cdi"], &[]);
    assert_eq!(
        Config::resolve(used).unwrap_err().to_string(),
        r#"invalid --cdi-device-name "gpu": not a CDI device name, use vendor/class=device: device is missing"#
    );
}
