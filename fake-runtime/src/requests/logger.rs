//! What the NRI project's logger plugin prints: each request as YAML, every line of it a line of a log.

/// What each line of a request says after.
const CALL: &str = "CreateContainer:";

/// The requests in a log as YAML documents; nothing where it has none.
pub(super) fn requests(log: &str) -> Option<String> {
    let mut yaml = String::new();
    let mut found = false;
    for line in log.lines() {
        let message = message(line);
        let Some(text) = after_call(&message) else {
            continue;
        };
        match text.trim() {
            "pod:" => {
                found = true;
                yaml += "---\npod:\n";
            }
            "container:" => yaml += "container:\n",
            _ => {
                yaml += text;
                yaml.push('\n');
            }
        }
    }
    found.then_some(yaml)
}

/// What a line says: on a terminal its end, elsewhere quoted behind `msg=`.
fn message(line: &str) -> String {
    let quoted = line.split_once(" msg=").map(|(_, quoted)| quoted);
    let unquoted = quoted.and_then(|text| serde_json::from_str(text).ok());
    unquoted.unwrap_or_else(|| line.to_owned())
}

/// Not that of `PostCreateContainer`.
fn after_call(message: &str) -> Option<&str> {
    let (before, after) = message.split_once(CALL)?;
    (before.is_empty() || before.ends_with(' ')).then_some(after)
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use crate::create::name_of;
    use crate::pod::Simulation;
    use crate::requests::in_text;

    const REQUEST: &str = "pod:
   id: a1
   linux:
     cgroup_parent: /kubepods
   name: p
   namespace: ns
   pid: 42
container:
   args:
   - sh
   - -c
   - 'echo a: b'
   id: b2
   linux:
     devices:
     - file_mode:
         value: 438
       major: 195
       path: /dev/nvidia0
       type: c
     oom_score_adj:
       value: -997
   name: c
   pod_sandbox_id: a1
   state: 1
";

    fn names(log: &str) -> Vec<String> {
        let requests = in_text(Path::new("log"), log, &Simulation::default()).unwrap();
        requests.requests.iter().map(name_of).collect()
    }

    fn logged(line: impl Fn(&str, &str) -> String) -> String {
        let calls = ["RunPodSandbox", "CreateContainer", "PostCreateContainer"];
        let lines = calls
            .iter()
            .flat_map(|call| REQUEST.lines().map(|it| line(call, &format!(" {it}"))));
        lines.collect()
    }

    #[test]
    fn a_request_is_read_as_the_logger_plugin_prints_it_on_a_terminal() {
        let log = logged(|call, text| format!("INFO   [0012] {call}:{text}\n"));
        assert_eq!(names(&log), ["ns/p/c"]);
    }

    #[test]
    fn a_request_is_read_as_the_logger_plugin_prints_it_into_a_file() {
        let log = logged(|call, text| {
            let message = serde_json::to_string(&format!("{call}:{text}")).unwrap();
            format!("time=\"2026-01-01T00:00:00Z\" level=info msg={message}\n")
        });
        assert_eq!(names(&log), ["ns/p/c"]);
    }

    #[test]
    fn a_request_is_read_as_yaml_without_a_log_around_it() {
        assert_eq!(names(REQUEST), ["ns/p/c"]);
    }
}
