//! Scenarios, and `--watch`.

use tempfile::TempDir;
use tokio::io::{AsyncBufReadExt as _, BufReader};

use crate::tool::{expect_line, hello, plugin, pod, replay, replayed, write};

/// A directory with a scenario, and a Pod that it names.
fn dir(steps: &str) -> TempDir {
    let dir = tempfile::tempdir().unwrap();
    write(dir.path(), "pod.yaml", &pod("there"));
    write(
        dir.path(),
        "scenario.yaml",
        &format!("kind: Scenario\nsteps:\n{steps}"),
    );
    dir
}

/// Plays the scenario to a plugin that sets HELLO, and returns the exit status and what was printed.
async fn play(steps: &str) -> (i32, String) {
    replayed(dir(steps).path(), hello("world"), &["scenario.yaml"]).await
}

#[tokio::test]
async fn a_scenario_that_comes_out_as_it_expects_is_a_success() {
    let (status, printed) = play(
        "
- create: pod.yaml
  expect: {adjusted: true, lost: false, changes: [+ env HELLO=world]}
- fault: unknown-stream
- create: {kind: Pod, metadata: {name: inline}, spec: {containers: [{name: main}]}}
  expect: {adjusted: true}
",
    )
    .await;
    assert_eq!(status, 0, "{printed}");
    let headings: Vec<_> = printed
        .lines()
        .filter(|line| !line.starts_with(' '))
        .collect();
    let expected = [
        "default/there/main",
        "",
        "fault: unknown-stream",
        "",
        "default/inline/main",
        "",
    ];
    assert_eq!(headings, expected);
}

#[tokio::test]
async fn a_pod_is_led_through_its_life_by_the_names_that_are_printed() {
    let (status, printed) = play(
        "
- run: pod.yaml
  expect: {adjusted: true}
- update: {container: default/there/main, resources: {cpu: {shares: {value: 512}}}}
- stop: default/there/main
- remove: default/there/main
- stop: default/there
- remove: default/there
",
    )
    .await;
    assert_eq!(status, 0, "{printed}");
    let told: Vec<_> = printed
        .lines()
        .filter(|line| !line.starts_with(' ') && !line.is_empty())
        .map(|line| line.split_once(' ').map_or(line, |(what, _)| what))
        .collect();
    let expected = [
        "pod",
        "default/there/main",
        "container",
        "container",
        "container",
        "container",
        "pod",
        "pod",
    ];
    assert_eq!(told, expected, "{printed}");
}

#[tokio::test]
async fn what_does_not_run_cannot_be_stopped() {
    let dir = dir("- stop: default/there/main\n");
    let mut tool = replay(dir.path(), &["scenario.yaml"]);
    let _plugin = plugin(dir.path(), hello("world"), tool.stdout.as_mut().unwrap()).await;
    let output = tool.wait_with_output().await.unwrap();
    assert_eq!(
        String::from_utf8(output.stderr).unwrap(),
        "fake-runtime: no pod or container \"default/there/main\" was run before: it is NAMESPACE/POD or \
         NAMESPACE/POD/CONTAINER\n"
    );
    assert_eq!(output.status.code(), Some(1));
}

#[tokio::test]
async fn each_expectation_that_does_not_come_true_is_printed_and_fails_the_scenario() {
    let (status, printed) = play(
        "
- create: pod.yaml
  expect: {adjusted: false, lost: true, refused: no, reason: any, changes: []}
",
    )
    .await;
    assert_eq!(status, 1);
    let unmet: Vec<_> = printed
        .lines()
        .filter(|line| line.starts_with("  expected"))
        .collect();
    let expected = [
        "  expected adjusted false, got true",
        "  expected lost true, got false",
        "  expected reason any, got none in the log",
        "  expected a refusal that says no, got the container was created",
        "  expected changes none, got ",
    ];
    assert_eq!(unmet, expected);
}

#[tokio::test]
async fn a_scenario_with_a_mistake_is_refused_with_the_line() {
    for (steps, said) in [
        (
            "- create: pod.yaml\n  fault: stop\n",
            "a step is one of create, create-at-once, run, update, stop, remove and fault",
        ),
        ("- fault: explode\n", "unknown variant `explode`"),
        (
            "- create: pod.yaml\n  expect: {adjustd: true}\n",
            "unknown field `adjustd`",
        ),
    ] {
        let dir = dir(steps);
        let output = replay(dir.path(), &["scenario.yaml"])
            .wait_with_output()
            .await
            .unwrap();
        let error = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(1));
        assert!(
            error.starts_with("fake-runtime: scenario.yaml: "),
            "{error}"
        );
        assert!(error.contains(said) && error.contains("line "), "{error}");
        assert_eq!(error.lines().count(), 1, "{error}");
    }
}

#[tokio::test]
async fn a_watched_file_is_replayed_again_when_it_changes() {
    let dir = dir("- create: pod.yaml\n");
    let mut tool = replay(dir.path(), &["scenario.yaml", "--watch"]);
    let mut printed = BufReader::new(tool.stdout.take().unwrap()).lines();
    let mut stderr = tool.stderr.take().unwrap();
    for name in ["there", "changed"] {
        let _plugin = plugin(dir.path(), hello("world"), printed.get_mut()).await;
        expect_line(&mut stderr, "waiting for a change").await;
        let mut heading = printed.next_line().await.unwrap().unwrap();
        while heading.is_empty() || heading.starts_with(' ') {
            heading = printed.next_line().await.unwrap().unwrap();
        }
        assert_eq!(heading, format!("default/{name}/main"));
        write(dir.path(), "pod.yaml", &pod("changed"));
    }
}
