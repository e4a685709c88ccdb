//! How a command line is read.

use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;

use clap::CommandFactory;

use super::*;
use crate::config::Config;

fn parse(args: &[&str], environment: &[(&str, &str)]) -> Result<Invocation, FlagError> {
    let variable = |name: &str| {
        let (_, value) = environment.iter().find(|(known, _)| *known == name)?;
        Some(OsString::from(value))
    };
    Flags::parse(args.iter().map(OsString::from), variable)
}

fn flags(args: &[&str], environment: &[(&str, &str)]) -> Flags {
    match parse(args, environment).unwrap() {
        Invocation::Run(flags) => *flags,
        Invocation::Print(text) => panic!("no flags but {text}"),
    }
}

fn error(args: &[&str]) -> String {
    parse(args, &[]).unwrap_err().to_string()
}

fn printed(args: &[&str]) -> String {
    match parse(args, &[]).unwrap() {
        Invocation::Print(text) => text,
        Invocation::Run(flags) => panic!("no text but {flags:?}"),
    }
}

/// Each flag's name and its variable.
fn names() -> Vec<(String, String)> {
    let name = |arg: &clap::Arg| {
        let variable = arg.get_env()?.to_str()?;
        Some((arg.get_long()?.to_owned(), variable.to_owned()))
    };
    Flags::command().get_arguments().filter_map(name).collect()
}

#[test]
fn a_flag_is_taken_in_every_spelling() {
    let expected = Flags {
        node_name: Some("n1".to_owned()),
        ..Flags::default()
    };
    for args in [
        &["--node-name=n1"][..],
        &["--node-name", "n1"],
        &["-node-name=n1"],
        &["-node-name", "n1"],
        &["--node-name=x", "-node-name=n1"],
        &["--node-name=n1", "--"],
    ] {
        assert_eq!(flags(args, &[]), expected, "{args:?}");
    }
}

#[test]
fn a_value_of_its_own_argument_is_taken_whatever_it_starts_with() {
    for value in ["--", "-x", "--plugin-name=p", "-node-name", "", "a=b"] {
        assert_eq!(
            flags(&["--node-name", value], &[]).node_name.as_deref(),
            Some(value)
        );
    }
}

#[test]
fn the_last_value_of_a_flag_wins_and_lists_add_up() {
    let args = [
        "--plugin-index=1",
        "--excluded-namespaces=a,b",
        "--plugin-index=2",
        "--excluded-namespaces",
        "c",
    ];
    let flags = flags(&args, &[]);
    assert_eq!(flags.plugin_index.as_deref(), Some("2"));
    let lists = ["a,b".to_owned(), "c".to_owned()];
    assert_eq!(flags.excluded_namespaces.as_deref(), Some(&lists[..]));
}

#[test]
fn a_switch_alone_means_true_and_takes_no_argument_of_its_own() {
    for (args, expected) in [
        (&["--compute-domain-staging"][..], "true"),
        (&["-compute-domain-staging"], "true"),
        (&["--compute-domain-staging=false"], "false"),
        (
            &["--compute-domain-staging", "--compute-domain-staging=0"],
            "0",
        ),
        (&["--compute-domain-staging="], ""),
    ] {
        assert_eq!(
            flags(args, &[]).compute_domain_staging.as_deref(),
            Some(expected)
        );
    }
    assert_eq!(
        error(&["--compute-domain-staging", "false"]),
        r#"unexpected argument "false": only flags are taken, as --name=value"#
    );
}

#[test]
fn every_flag_equals_its_variable() {
    assert_eq!(names().len(), 27);
    for (flag, variable) in names() {
        for value in ["x,y", "", "--z"] {
            let from_flag = flags(&[&format!("--{flag}={value}")], &[]);
            assert_ne!(from_flag, Flags::default());
            assert_eq!(flags(&[], &[(&variable, value)]), from_flag, "{flag}");
        }
    }
}

#[test]
fn a_flag_replaces_its_variable_also_where_it_is_a_list() {
    for (flag, variable) in names() {
        for value in ["x", ""] {
            let arg = format!("--{flag}={value}");
            assert_eq!(
                flags(&[&arg], &[(&variable, "y,z")]),
                flags(&[&arg], &[]),
                "{flag}"
            );
        }
    }
}

#[test]
fn a_variable_and_a_flag_of_another_name_stand_side_by_side() {
    let flags = flags(
        &["--plugin-name=p"],
        &[("NODE_NAME", "n"), ("MOKKA_NRI_NODE_NAME", "wrong")],
    );
    assert_eq!(flags.plugin_name.as_deref(), Some("p"));
    assert_eq!(flags.node_name.as_deref(), Some("n"));
}

#[test]
fn a_command_line_that_cannot_be_read_is_told_in_one_line() {
    for (args, line) in [
        (&["--nope"][..], r#"unknown flag "--nope", see --help"#),
        (&["-nope=1"], r#"unknown flag "--nope", see --help"#),
        (&["--a\nb=c"], r#"unknown flag "--a\nb", see --help"#),
        (&["-x"], r#"unknown flag "-x", see --help"#),
        (
            &["--overlay-hostpath=/x"],
            r#"unknown flag "--overlay-hostpath", did you mean --overlay-host-path?"#,
        ),
        (&["--node-name"], "flag --node-name needs a value"),
        (
            &["--node-name=n", "-plugin-index"],
            "flag --plugin-index needs a value",
        ),
        (
            &["run"],
            r#"unexpected argument "run": only flags are taken, as --name=value"#,
        ),
        (
            &[""],
            r#"unexpected argument "": only flags are taken, as --name=value"#,
        ),
        (
            &["a\nb"],
            r#"unexpected argument "a\nb": only flags are taken, as --name=value"#,
        ),
        (
            &["-"],
            r#"unexpected argument "-": only flags are taken, as --name=value"#,
        ),
        (
            &["--", "--node-name=n"],
            r#"unexpected argument "--node-name=n": only flags are taken, as --name=value"#,
        ),
        (&["--help=now"], "flag --help takes no value"),
    ] {
        assert_eq!(error(args), line);
    }
}

#[test]
fn whatever_else_the_parser_refuses_is_its_first_line() {
    let error = clap::Error::raw(clap::error::ErrorKind::Io, "out of words\nUsage: ...\n");
    assert_eq!(FlagError::from(error).to_string(), "out of words");
}

#[test]
fn what_is_no_text_is_refused_by_name() {
    let bytes = || OsString::from_vec(vec![b'-', b'x', 0xff]);
    let error = Flags::parse([bytes()], |_| None).unwrap_err();
    assert_eq!(
        error.to_string(),
        "argument \"-x\u{fffd}\" is not valid UTF-8"
    );
    let error = Flags::parse([], |name| (name == "NODE_NAME").then(bytes)).unwrap_err();
    assert_eq!(
        error.to_string(),
        "environment variable NODE_NAME is not valid UTF-8"
    );
}

#[test]
fn help_and_version_are_texts_to_print() {
    for spelling in ["--help", "-help", "-h"] {
        assert!(printed(&["--node-name=n", spelling]).contains("Usage: nri-plugin [OPTIONS]"));
    }
    for spelling in ["--version", "-version", "-V"] {
        let version = format!("nri-plugin {}\n", crate::version::VERSION);
        assert_eq!(printed(&[spelling]), version);
    }
}

#[test]
fn the_help_names_every_flag_with_its_variable() {
    let help = printed(&["--help"]);
    for (flag, variable) in names() {
        assert!(help.contains(&format!("--{flag}")), "{flag}");
        assert!(help.contains(&format!("[env: {variable}]")), "{variable}");
    }
}

#[test]
fn the_default_in_the_help_is_the_one_that_is_used() {
    let defaults = Config::resolve(Flags::default()).unwrap();
    for arg in Flags::command().get_arguments() {
        let (Some(flag), Some(help)) = (arg.get_long(), arg.get_long_help().or(arg.get_help()))
        else {
            continue;
        };
        let help = help.to_string();
        let (_, default) = help.split_once("[default: ").unwrap();
        let default = default
            .trim_end_matches(']')
            .replace("none", "")
            .replace("<overlay-host-path>", "/var/lib/nvml-mock")
            .replace("<overlay-mount-path>", "/opt/nvml-mock");
        let given = flags(&[&format!("--{flag}={default}")], &[]);
        assert_eq!(Config::resolve(given).as_ref(), Ok(&defaults), "{flag}");
    }
}

#[test]
fn every_flag_can_stand_in_the_configuration() {
    for (flag, _) in names() {
        let configured = Flags::configured(&format!("{flag}: x"));
        let expected = flags(&[&format!("--{flag}=x")], &[]);
        assert_eq!(configured, (expected, None), "{flag}");
    }
}

#[test]
fn a_value_in_the_configuration_is_text_whatever_it_looks_like() {
    for (value, text) in [
        ("7", "7"),
        ("007", "007"),
        ("1_000", "1_000"),
        ("true", "true"),
        ("yes", "yes"),
        ("\"true\"", "true"),
        (":8080", ":8080"),
        ("a,b", "a,b"),
        ("", ""),
    ] {
        let (configured, wrong) = Flags::configured(&format!("node-name: {value}"));
        assert_eq!(
            (configured.node_name.as_deref(), wrong),
            (Some(text), None),
            "{value}"
        );
    }
}

#[test]
fn a_list_in_the_configuration_is_its_flag_once_for_each_item() {
    for (list, args) in [
        (
            "[a, \"b,c\", 1]",
            &[
                "--excluded-namespaces=a",
                "--excluded-namespaces=b,c",
                "--excluded-namespaces=1",
            ][..],
        ),
        ("[]", &["--excluded-namespaces="]),
    ] {
        let configured = Flags::configured(&format!("excluded-namespaces: {list}"));
        assert_eq!(configured, (flags(args, &[]), None));
    }
}

#[test]
fn a_variable_and_a_flag_each_replace_what_is_configured() {
    let (configured, _) =
        Flags::configured("{excluded-namespaces: [a, b], node-name: a, plugin-name: a}");
    let args = ["--node-name=f"].map(OsString::from);
    let variable = |name: &str| {
        let variables = ["NODE_NAME", "MOKKA_NRI_EXCLUDED_NAMESPACES"];
        variables.contains(&name).then(|| OsString::from("v"))
    };
    let Ok(Invocation::Run(flags)) = configured.overridden(args, variable) else {
        panic!("flags that can be read")
    };
    assert_eq!(flags.node_name.as_deref(), Some("f"));
    assert_eq!(flags.excluded_namespaces, Some(vec!["v".to_owned()]));
    assert_eq!(flags.plugin_name.as_deref(), Some("a"));
}
