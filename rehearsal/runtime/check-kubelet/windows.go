package main

import (
	"fmt"
	"reflect"

	kubeletconfig "k8s.io/kubernetes/pkg/kubelet/apis/config"
	kubetypes "k8s.io/kubernetes/pkg/kubelet/types"
)

// windowsProblems restates the rules that upstream compiles for Windows only, in
// k8s.io/kubernetes/pkg/kubelet/apis/config/validation/validation_windows.go and
// pkg/kubelet/network/dns/dns_windows.go. What upstream merely logs as ignored is a problem here: both defaults are
// Linux', and a file that leaves them has not thought of Windows (kubernetes/kubeadm#2967).
func windowsProblems(config *kubeletconfig.KubeletConfiguration) []string {
	var problems []string
	add := func(format string, values ...any) { problems = append(problems, fmt.Sprintf(format, values...)) }

	if config.CgroupsPerQOS {
		add("cgroupsPerQOS (--cgroups-per-qos) true is not supported on Windows, set it to false")
	}
	for _, enforced := range config.EnforceNodeAllocatable {
		if enforced != kubetypes.NodeAllocatableNoneKey {
			add("enforceNodeAllocatable (--enforce-node-allocatable) %q is not supported on Windows, set it to [%s]", enforced, kubetypes.NodeAllocatableNoneKey)
		}
	}
	if config.SingleProcessOOMKill != nil {
		add("singleProcessOOMKill is not supported on Windows")
	}
	if config.UserNamespaces != nil {
		add("userNamespaces is not supported on Windows")
	}
	if hasEntries(config, "DefaultPodSysctls") {
		add("defaultPodSysctls is not supported on Windows")
	}
	// Anything else is a path that no Windows machine has; then every pod that uses the node's DNS fails to start.
	if config.ResolverConfig != "" && config.ResolverConfig != "Host" {
		add("resolvConf (--resolv-conf) %q is no file on Windows, set it to \"\" or \"Host\"", config.ResolverConfig)
	}
	// Both act on cgroups: pkg/kubelet/cm/container_manager_windows.go reads neither, and the API's documentation gives
	// swap to Linux.
	if config.CgroupDriver != "cgroupfs" {
		add("cgroupDriver %q has no meaning on Windows, leave it out", config.CgroupDriver)
	}
	if config.MemorySwap.SwapBehavior != "" {
		add("memorySwap.swapBehavior %q has no meaning on Windows, leave it out", config.MemorySwap.SwapBehavior)
	}
	return problems
}

// hasEntries looks at a field that only some of the Kubernetes versions have.
func hasEntries(config *kubeletconfig.KubeletConfiguration, field string) bool {
	value := reflect.ValueOf(config).Elem().FieldByName(field)
	return value.IsValid() && value.Len() > 0
}
