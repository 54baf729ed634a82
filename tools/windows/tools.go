//go:build tools

// Package windows pins programs of Windows nodes that run under Wine; those of Kubernetes come from the module above.
package windows

import (
	_ "github.com/containerd/containerd/v2/cmd/containerd"
	_ "github.com/containernetworking/plugins/plugins/ipam/host-local"
	_ "github.com/flannel-io/flannel"
)
