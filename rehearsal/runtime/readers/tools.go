//go:build tools

// Package readers pins programs beside those of Kubernetes: what runs on Windows nodes, and the reader of workflows.
package readers

import (
	_ "github.com/containerd/containerd/v2/cmd/containerd"
	_ "github.com/containernetworking/plugins/plugins/ipam/host-local"
	_ "github.com/containernetworking/plugins/plugins/main/windows/win-overlay"
	_ "github.com/rhysd/actionlint/cmd/actionlint"
)
