package main

import (
	"context"
	"time"

	"github.com/prometheus/procfs"
	"k8s.io/apimachinery/pkg/labels"
	cri "k8s.io/cri-api/pkg/apis/runtime/v1"
)

func (s *runtimeService) ListContainerStats(_ context.Context, request *cri.ListContainerStatsRequest) (*cri.ListContainerStatsResponse, error) {
	filter := request.GetFilter()
	s.store.mu.Lock()
	defer s.store.mu.Unlock()
	answer := &cri.ListContainerStatsResponse{}
	for _, c := range s.store.containers {
		if c.State != cri.ContainerState_CONTAINER_RUNNING ||
			filter.GetId() != "" && filter.GetId() != c.ID ||
			filter.GetPodSandboxId() != "" && filter.GetPodSandboxId() != c.SandboxID ||
			!labels.SelectorFromSet(filter.GetLabelSelector()).Matches(labels.Set(c.Config.GetLabels())) {
			continue
		}
		answer.Stats = append(answer.Stats, statsOf(c))
	}
	return answer, nil
}

// statsOf measures a container's first process, which with these programs is the only one. A fake uses nothing.
func statsOf(c *container) *cri.ContainerStats {
	now := time.Now().UnixNano()
	cpu, memory := usageOf(c.PID)
	value := func(number uint64) *cri.UInt64Value { return &cri.UInt64Value{Value: number} }
	return &cri.ContainerStats{
		Attributes: &cri.ContainerAttributes{
			Id:          c.ID,
			Metadata:    c.Config.GetMetadata(),
			Labels:      c.Config.GetLabels(),
			Annotations: c.Config.GetAnnotations(),
		},
		Cpu:           &cri.CpuUsage{Timestamp: now, UsageCoreNanoSeconds: value(cpu)},
		Memory:        &cri.MemoryUsage{Timestamp: now, WorkingSetBytes: value(memory), RssBytes: value(memory), UsageBytes: value(memory)},
		WritableLayer: &cri.FilesystemUsage{Timestamp: now, UsedBytes: value(0), InodesUsed: value(0)},
	}
}

// usageOf is a process's processor time in nanoseconds and resident memory in bytes.
func usageOf(pid int) (cpu, memory uint64) {
	process, err := procfs.NewProc(pid)
	if err != nil {
		return 0, 0
	}
	stat, err := process.Stat()
	if err != nil {
		return 0, 0
	}
	return uint64(stat.CPUTime() * 1e9), uint64(stat.ResidentMemory())
}
