package main

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// FAKE_RUNTIME names the tool where it is not in PATH, and PLUGIN the plugin's binary.
func tool(t *testing.T, arguments ...string) []byte {
	name := os.Getenv("FAKE_RUNTIME")
	if name == "" {
		name = "fake-runtime"
	}
	out, err := exec.Command(name, arguments...).Output()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return out
}

func TestEveryContainerGetsTheMount(t *testing.T) {
	pod := filepath.Join(t.TempDir(), "pod.yaml")
	manifest := "{kind: Pod, metadata: {name: a}, spec: {containers: [{name: main, image: busybox, command: [sleep]}]}}"
	if err := os.WriteFile(pod, []byte(manifest), 0o644); err != nil {
		t.Fatal(err)
	}
	out := tool(t, "replay", pod, "--output", "json", "--plugin", os.Getenv("PLUGIN"), "--", "-nri-socket", "{socket}")
	var container struct {
		Changes []struct{ What, Key string }
	}
	if err := json.Unmarshal(out, &container); err != nil {
		t.Fatal(err)
	}
	for _, change := range container.Changes {
		if change.What == "mount" && change.Key == "/from-go" {
			return
		}
	}
	t.Errorf("no mount at /from-go: %s", out)
}

func TestThePluginConforms(t *testing.T) {
	tool(t, "check", "--only", "conformance", "--plugin", os.Getenv("PLUGIN"), "--", "-nri-socket", "{socket}")
}
