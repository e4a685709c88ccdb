// An NRI plugin on the NRI project's own Go stub: with one handler, or with one thing wrong.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/containerd/nri/pkg/stub"
)

// The plugins, by what -as is given.
var plugins = map[string]any{
	"configure":             &configure{},
	"synchronize":           &synchronize{},
	"run-pod-sandbox":       &runPodSandbox{},
	"stop-pod-sandbox":      &stopPodSandbox{},
	"remove-pod-sandbox":    &removePodSandbox{},
	"create-container":      &createContainer{},
	"post-create-container": &postCreateContainer{},
	"start-container":       &startContainer{},
	"post-start-container":  &postStartContainer{},
	"update-container":      &updateContainer{},
	"post-update-container": &postUpdateContainer{},
	"stop-container":        &stopContainer{},
	"remove-container":      &removeContainer{},
	"every-handler":         &everyHandler{},

	"wrong-ends":         &ends{},
	"wrong-panics":       &panics{},
	"wrong-late":         &late{},
	"wrong-twice":        &twice{},
	"wrong-close":        &createContainer{},
	"wrong-registration": &createContainer{},
	"wrong-synchronize":  &refusesInventory{},
}

func main() {
	socket := flag.String("nri-socket", "", "path of the runtime's NRI socket")
	as := flag.String("as", "create-container", "one of "+strings.Join(names(), ", "))
	flag.Parse()
	plugin, known := plugins[*as]
	if !known {
		fail(fmt.Errorf("there is no plugin %q", *as))
	}
	var options []stub.Option
	// One that the runtime started gets its name, index and connection in the environment.
	if *socket != "" {
		options = []stub.Option{stub.WithSocketPath(*socket), stub.WithPluginIdx("10"), stub.WithPluginName(*as)}
	}
	switch *as {
	case "wrong-close":
		options = append(options, stub.WithOnClose(func() { panic("no connection any more") }))
	case "wrong-registration":
		options = []stub.Option{stub.WithSocketPath(*socket), stub.WithPluginIdx("100"), stub.WithPluginName(*as)}
	}
	s, err := stub.New(plugin, options...)
	if err == nil {
		err = s.Run(context.Background())
	}
	if *as == "wrong-close" {
		// Run also returns over the close, and could end the program before the panic does.
		select {}
	}
	if err != nil {
		fail(err)
	}
}

func fail(err error) {
	fmt.Fprintln(os.Stderr, "go-plugin:", err)
	os.Exit(1)
}

func names() []string {
	var names []string
	for name := range plugins {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}
