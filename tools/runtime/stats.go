package main

import (
	"context"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	cri "k8s.io/cri-api/pkg/apis/runtime/v1"
)

func (s *runtimeService) ContainerStats(_ context.Context, request *cri.ContainerStatsRequest) (*cri.ContainerStatsResponse, error) {
	c, err := s.store.container(request.GetContainerId())
	if err != nil {
		return nil, err
	}
	s.store.mu.Lock()
	defer s.store.mu.Unlock()
	return &cri.ContainerStatsResponse{Stats: statsOf(c)}, nil
}

func (s *runtimeService) ListContainerStats(_ context.Context, request *cri.ListContainerStatsRequest) (*cri.ListContainerStatsResponse, error) {
	filter := request.GetFilter()
	s.store.mu.Lock()
	defer s.store.mu.Unlock()
	answer := &cri.ListContainerStatsResponse{}
	for _, c := range s.store.containers {
		if c.State != cri.ContainerState_CONTAINER_RUNNING ||
			filter.GetId() != "" && filter.GetId() != c.ID ||
			filter.GetPodSandboxId() != "" && filter.GetPodSandboxId() != c.SandboxID ||
			!hasLabels(c.Config.GetLabels(), filter.GetLabelSelector()) {
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

// usageOf reads proc_pid_stat(5): processor time in nanoseconds, at 100 ticks per second, and resident memory in bytes.
func usageOf(pid int) (cpu, memory uint64) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if pid == 0 || err != nil {
		return 0, 0
	}
	_, rest, _ := strings.Cut(string(text), ") ")
	fields := strings.Fields(rest)
	if len(fields) < 22 {
		return 0, 0
	}
	number := func(index int) uint64 {
		value, _ := strconv.ParseUint(fields[index], 10, 64)
		return value
	}
	return (number(11) + number(12)) * 10_000_000, number(21) * uint64(os.Getpagesize())
}
