package main

import (
	"context"
	"fmt"

	"github.com/containerd/nri/pkg/api"
)

// Each plugin reads what the runtime always sends without looking whether it is there, as plugins do.
func see(pod *api.PodSandbox, container *api.Container) error {
	if pod.Id == "" || pod.Linux.CgroupParent == "impossible" {
		return fmt.Errorf("a pod without an id")
	}
	if container != nil && (container.PodSandboxId != pod.Id || container.Linux.CgroupsPath == "impossible") {
		return fmt.Errorf("container %s of another pod", container.Id)
	}
	return nil
}

type configure struct{ createContainer }

func (*configure) Configure(_ context.Context, _, runtime, version string) (api.EventMask, error) {
	if runtime == "" || version == "" {
		return 0, fmt.Errorf("a runtime without a name or a version")
	}
	return api.ParseEventMask("CreateContainer")
}

type synchronize struct{ createContainer }

func (*synchronize) Synchronize(_ context.Context, pods []*api.PodSandbox, containers []*api.Container) ([]*api.ContainerUpdate, error) {
	known := map[string]bool{}
	for _, pod := range pods {
		known[pod.Id] = true
	}
	for _, container := range containers {
		if !known[container.PodSandboxId] {
			return nil, fmt.Errorf("container %s of no pod", container.Id)
		}
	}
	return nil, nil
}

type runPodSandbox struct{}

func (*runPodSandbox) RunPodSandbox(_ context.Context, pod *api.PodSandbox) error {
	return see(pod, nil)
}

type stopPodSandbox struct{}

func (*stopPodSandbox) StopPodSandbox(_ context.Context, pod *api.PodSandbox) error {
	return see(pod, nil)
}

type removePodSandbox struct{}

func (*removePodSandbox) RemovePodSandbox(_ context.Context, pod *api.PodSandbox) error {
	return see(pod, nil)
}

type createContainer struct{}

func (*createContainer) CreateContainer(_ context.Context, pod *api.PodSandbox, container *api.Container) (*api.ContainerAdjustment, []*api.ContainerUpdate, error) {
	adjust := &api.ContainerAdjustment{}
	// A container has a command, and its first word is always there.
	adjust.AddEnv("COMMAND", container.Args[0])
	adjust.AddAnnotation("go-plugin/env", fmt.Sprint(len(container.Env)))
	adjust.AddMount(&api.Mount{Destination: "/from-go", Source: "/tmp", Type: "bind", Options: []string{"rbind", "ro"}})
	return adjust, nil, see(pod, container)
}

type postCreateContainer struct{}

func (*postCreateContainer) PostCreateContainer(_ context.Context, pod *api.PodSandbox, container *api.Container) error {
	return see(pod, container)
}

type startContainer struct{}

func (*startContainer) StartContainer(_ context.Context, pod *api.PodSandbox, container *api.Container) error {
	return see(pod, container)
}

type postStartContainer struct{}

func (*postStartContainer) PostStartContainer(_ context.Context, pod *api.PodSandbox, container *api.Container) error {
	return see(pod, container)
}

type updateContainer struct{}

func (*updateContainer) UpdateContainer(_ context.Context, pod *api.PodSandbox, container *api.Container, resources *api.LinuxResources) ([]*api.ContainerUpdate, error) {
	update := &api.ContainerUpdate{}
	update.SetContainerId(container.Id)
	update.SetLinuxCPUShares(resources.Cpu.Shares.GetValue() + 1)
	return []*api.ContainerUpdate{update}, see(pod, container)
}

type postUpdateContainer struct{}

func (*postUpdateContainer) PostUpdateContainer(_ context.Context, pod *api.PodSandbox, container *api.Container) error {
	return see(pod, container)
}

type stopContainer struct{}

func (*stopContainer) StopContainer(_ context.Context, pod *api.PodSandbox, container *api.Container) ([]*api.ContainerUpdate, error) {
	return nil, see(pod, container)
}

type removeContainer struct{}

func (*removeContainer) RemoveContainer(_ context.Context, pod *api.PodSandbox, container *api.Container) error {
	return see(pod, container)
}

type everyHandler struct {
	configureAll
	runPodSandbox
	stopPodSandbox
	removePodSandbox
	createContainer
	postCreateContainer
	startContainer
	postStartContainer
	updateContainer
	postUpdateContainer
	stopContainer
	removeContainer
}

// Leaves the choice of events to the stub.
type configureAll struct{}

func (configureAll) Configure(context.Context, string, string, string) (api.EventMask, error) {
	return 0, nil
}
