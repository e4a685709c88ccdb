"""Run by pytest, or by itself. FAKE_RUNTIME names the tool where it is not in PATH."""
import json
import os
import pathlib
import subprocess

HERE = pathlib.Path(__file__).parent
TOOL = os.environ.get("FAKE_RUNTIME", "fake-runtime")
POD = "{kind: Pod, metadata: {name: a}, spec: {containers: [{name: main, image: busybox}]}}"


def test_every_container_is_greeted(tmp_path):
    pod = tmp_path / "pod.yaml"
    pod.write_text(POD)
    run = subprocess.run([TOOL, "replay", pod, "--output", "json", "--plugin", HERE / "hello.py", "--", "{socket}"],
                         capture_output=True, text=True)
    assert run.returncode == 0, run.stdout + run.stderr
    container = json.loads(run.stdout)
    assert {"what": "env", "key": "HELLO", "before": None, "after": "HELLO=world"} in container["changes"]


def test_the_plugin_conforms():
    run = subprocess.run([TOOL, "check", "--only", "conformance", "--plugin", HERE / "hello.py", "--", "{socket}"],
                         capture_output=True, text=True)
    assert run.returncode == 0, run.stdout + run.stderr


if __name__ == "__main__":
    import tempfile

    test_every_container_is_greeted(pathlib.Path(tempfile.mkdtemp()))
    test_the_plugin_conforms()
