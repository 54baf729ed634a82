package main

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"log"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/prometheus/procfs"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"k8s.io/apimachinery/pkg/labels"
	cri "k8s.io/cri-api/pkg/apis/runtime/v1"
)

// sandbox is a pod: what its containers share.
type sandbox struct {
	ID      string
	Config  *cri.PodSandboxConfig
	Handler string
	Created int64
	Ready   bool
	// IP and NetNS are empty for a pod with the machine's network.
	IP    string
	NetNS string
}

// container is one container of a sandbox.
type container struct {
	ID        string
	SandboxID string
	Config    *cri.ContainerConfig
	// Argv and Env include the image's.
	Argv []string
	Env  []string
	// Fake tells that the rehearsal has no program for it.
	Fake                       bool
	Created, Started, Finished int64
	State                      cri.ContainerState
	ExitCode                   int32
	Reason, Message            string
	// PID is the process, Shim its supervisor; 0 without.
	PID, Shim int
}

// store keeps sandboxes and containers, in memory and as files for a restarted runtime.
type store struct {
	folder     string
	mu         sync.Mutex
	sandboxes  map[string]*sandbox
	containers map[string]*container
}

func openStore(folder string) (*store, error) {
	s := &store{folder: folder, sandboxes: map[string]*sandbox{}, containers: map[string]*container{}}
	for _, name := range []string{"sandboxes", "containers"} {
		if err := os.MkdirAll(filepath.Join(folder, name), 0o711); err != nil {
			return nil, err
		}
	}
	if err := load(filepath.Join(folder, "sandboxes"), s.sandboxes); err != nil {
		return nil, err
	}
	return s, load(filepath.Join(folder, "containers"), s.containers)
}

func load[T any](folder string, into map[string]*T) error {
	files, err := filepath.Glob(filepath.Join(folder, "*", "record.json"))
	if err != nil {
		return err
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		record := new(T)
		if err := json.Unmarshal(text, record); err != nil {
			return err
		}
		into[filepath.Base(filepath.Dir(file))] = record
	}
	return nil
}

// path is the folder of a container or sandbox.
func (s *store) path(kind, id string) string { return filepath.Join(s.folder, kind, id) }

// save writes a record in one step. The caller holds the lock or alone knows the record.
func (s *store) save(kind, id string, record any) {
	folder := s.path(kind, id)
	text, err := json.Marshal(record)
	if err == nil {
		err = os.MkdirAll(folder, 0o711)
	}
	if err == nil {
		err = replaceFile(filepath.Join(folder, "record.json"), text)
	}
	if err != nil {
		log.Printf("%s %s is not kept: %v", kind, id, err)
	}
}

func replaceFile(path string, content []byte) error {
	if err := os.WriteFile(path+".new", content, 0o600); err != nil {
		return err
	}
	return os.Rename(path+".new", path)
}

func (s *store) sandbox(id string) (*sandbox, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if found, ok := s.sandboxes[id]; ok {
		return found, nil
	}
	return nil, status.Errorf(codes.NotFound, "sandbox %q not found", id)
}

func (s *store) container(id string) (*container, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if found, ok := s.containers[id]; ok {
		return found, nil
	}
	return nil, status.Errorf(codes.NotFound, "container %q not found", id)
}

// update changes a container under the lock and keeps it.
func (s *store) update(c *container, change func(*container)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	change(c)
	if _, ok := s.containers[c.ID]; ok {
		s.save("containers", c.ID, c)
	}
}

// of lists the containers of a sandbox.
func (s *store) of(sandboxID string) []*container {
	s.mu.Lock()
	defer s.mu.Unlock()
	var found []*container
	for _, c := range s.containers {
		if c.SandboxID == sandboxID {
			found = append(found, c)
		}
	}
	return found
}

func newID() string {
	bytes := make([]byte, 32)
	// Never fails (crypto/rand).
	_, _ = rand.Read(bytes)
	return hex.EncodeToString(bytes)
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
			!labels.SelectorFromSet(filter.GetLabelSelector()).Matches(labels.Set(c.Config.GetLabels())) {
			continue
		}
		answer.Stats = append(answer.Stats, statsOf(c))
	}
	return answer, nil
}

// statsOf measures a container's first process, with these programs the only one. A fake uses nothing.
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
