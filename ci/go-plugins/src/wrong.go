package main

import (
	"context"
	"fmt"
	"os"
	"time"

	"github.com/containerd/nri/pkg/api"
)

// Ends at its first question.
type ends struct{}

func (*ends) CreateContainer(context.Context, *api.PodSandbox, *api.Container) (*api.ContainerAdjustment, []*api.ContainerUpdate, error) {
	os.Exit(3)
	return nil, nil, nil
}

// Panics over a container that asks for no memory.
type panics struct{}

func (*panics) CreateContainer(_ context.Context, _ *api.PodSandbox, container *api.Container) (*api.ContainerAdjustment, []*api.ContainerUpdate, error) {
	adjust := &api.ContainerAdjustment{}
	adjust.AddEnv("CLASS", fmt.Sprint(container.Linux.Resources.RdtClass.Value))
	return adjust, nil, nil
}

// Takes longer than it is given.
type late struct{}

func (*late) CreateContainer(context.Context, *api.PodSandbox, *api.Container) (*api.ContainerAdjustment, []*api.ContainerUpdate, error) {
	time.Sleep(5 * time.Second)
	return nil, nil, nil
}

// Sets a variable twice in one adjustment.
type twice struct{}

func (*twice) CreateContainer(context.Context, *api.PodSandbox, *api.Container) (*api.ContainerAdjustment, []*api.ContainerUpdate, error) {
	adjust := &api.ContainerAdjustment{}
	adjust.AddEnv("TWICE", "once")
	adjust.AddEnv("TWICE", "again")
	return adjust, nil, nil
}

// Wants no inventory.
type refusesInventory struct{ createContainer }

func (*refusesInventory) Synchronize(context.Context, []*api.PodSandbox, []*api.Container) ([]*api.ContainerUpdate, error) {
	return nil, fmt.Errorf("too much to remember")
}
