//go:build tools

// Package windows pins the programs of Windows nodes, besides those of Kubernetes, that run under Wine.
package windows

import (
	_ "github.com/containerd/containerd/v2/cmd/containerd"
	_ "github.com/containernetworking/plugins/plugins/ipam/host-local"
	_ "github.com/containernetworking/plugins/plugins/main/windows/win-overlay"
)
