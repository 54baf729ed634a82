package main

import (
	"context"
	"log"
	"os"
	"path/filepath"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"k8s.io/apimachinery/pkg/labels"
	cri "k8s.io/cri-api/pkg/apis/runtime/v1"
)

func (s *runtimeService) CreateContainer(_ context.Context, request *cri.CreateContainerRequest) (*cri.CreateContainerResponse, error) {
	pod, err := s.store.sandbox(request.GetPodSandboxId())
	if err != nil {
		return nil, err
	}
	config := request.GetConfig()
	if _, _, ok := s.images.lookUp(config.GetImage().GetImage()); !ok {
		return nil, status.Errorf(codes.NotFound, "image %q not found", config.GetImage().GetImage())
	}
	image := s.images.config(config.GetImage().GetImage())
	c := &container{
		ID:        newID(),
		SandboxID: pod.ID,
		Config:    config,
		Argv:      commandOf(config),
		Env:       environmentOf(config, pod),
		Created:   time.Now().UnixNano(),
		State:     cri.ContainerState_CONTAINER_CREATED,
	}
	c.Fake = !image.runs(c.Argv)
	s.store.mu.Lock()
	defer s.store.mu.Unlock()
	s.store.containers[c.ID] = c
	s.store.save("containers", c.ID, c)
	return &cri.CreateContainerResponse{ContainerId: c.ID}, nil
}

func (s *runtimeService) StartContainer(_ context.Context, request *cri.StartContainerRequest) (*cri.StartContainerResponse, error) {
	c, err := s.store.container(request.GetContainerId())
	if err != nil {
		return nil, err
	}
	pod, err := s.store.sandbox(c.SandboxID)
	if err != nil {
		return nil, err
	}
	if c.State != cri.ContainerState_CONTAINER_CREATED {
		return nil, status.Errorf(codes.Unknown, "container %q is in state %s", c.ID, c.State)
	}
	if c.Fake {
		if err := s.explainFake(c, pod); err != nil {
			return nil, err
		}
		s.store.update(c, func(c *container) { c.State, c.Started = cri.ContainerState_CONTAINER_RUNNING, time.Now().UnixNano() })
		s.fakes.start(c, pod, func(code int32) { s.ended(c, code, "", 0) })
		return &cri.StartContainerResponse{}, nil
	}
	shim, pid, wait, err := startShim(s.bundleOf(c, pod))
	if err != nil {
		// containerd's code and reason for a process that does not start (internal/cri/server/container_start.go).
		s.ended(c, 128, "StartError", 0)
		s.store.update(c, func(c *container) { c.Message = err.Error() })
		return nil, status.Errorf(codes.Unknown, "failed to start container %q: %v", c.ID, err)
	}
	s.store.update(c, func(c *container) {
		c.State, c.Started, c.PID, c.Shim = cri.ContainerState_CONTAINER_RUNNING, time.Now().UnixNano(), pid, shim
	})
	go s.follow(c, wait)
	return &cri.StartContainerResponse{}, nil
}

// follow waits for the end of a container's supervisor and notes what it wrote.
func (s *runtimeService) follow(c *container, wait func()) {
	wait()
	code, finished := readExit(s.store.path("containers", c.ID))
	s.ended(c, code, "", finished)
}

// ended notes a container's first end.
func (s *runtimeService) ended(c *container, code int32, reason string, finished int64) {
	if finished == 0 {
		finished = time.Now().UnixNano()
	}
	if reason == "" {
		reason = "Error"
		if code == 0 {
			reason = "Completed"
		}
	}
	s.store.update(c, func(c *container) {
		if c.State == cri.ContainerState_CONTAINER_EXITED {
			return
		}
		c.State, c.ExitCode, c.Reason, c.Finished = cri.ContainerState_CONTAINER_EXITED, code, reason, finished
	})
}

// reattach follows the containers of an earlier run of the runtime.
func (s *runtimeService) reattach() {
	for _, c := range s.store.containers {
		if c.State != cri.ContainerState_CONTAINER_RUNNING {
			continue
		}
		if !c.Fake {
			go s.follow(c, func() { waitForShim(c.Shim) })
			continue
		}
		if pod, err := s.store.sandbox(c.SandboxID); err == nil {
			s.fakes.start(c, pod, func(code int32) { s.ended(c, code, "", 0) })
		}
	}
}

func (s *runtimeService) StopContainer(_ context.Context, request *cri.StopContainerRequest) (*cri.StopContainerResponse, error) {
	c, err := s.store.container(request.GetContainerId())
	if err != nil {
		// A container that is gone is stopped (CRI: api.proto, StopContainer is idempotent).
		return &cri.StopContainerResponse{}, nil
	}
	s.stop(c, time.Duration(request.GetTimeout())*time.Second)
	return &cri.StopContainerResponse{}, nil
}

// stop ends a container by its stop signal, and by SIGKILL after the time of grace.
func (s *runtimeService) stop(c *container, grace time.Duration) {
	if s.stateOf(c) != cri.ContainerState_CONTAINER_RUNNING {
		return
	}
	if c.Fake {
		s.fakes.stop(c)
		s.ended(c, 0, "", 0)
		return
	}
	if grace > 0 {
		signalGroup(c.PID, stopSignal(c.Config.GetStopSignal()))
		if s.awaitEnd(c, grace) {
			return
		}
	}
	for !s.awaitEnd(c, 2*time.Second) {
		log.Printf("container %s (%s) is killed", c.ID[:13], c.Config.GetMetadata().GetName())
		killGroup(c.PID)
	}
}

func (s *runtimeService) stateOf(c *container) cri.ContainerState {
	s.store.mu.Lock()
	defer s.store.mu.Unlock()
	return c.State
}

func (s *runtimeService) awaitEnd(c *container, limit time.Duration) bool {
	for end := time.Now().Add(limit); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		if s.stateOf(c) != cri.ContainerState_CONTAINER_RUNNING {
			return true
		}
	}
	return false
}

func (s *runtimeService) RemoveContainer(_ context.Context, request *cri.RemoveContainerRequest) (*cri.RemoveContainerResponse, error) {
	c, err := s.store.container(request.GetContainerId())
	if err != nil {
		return &cri.RemoveContainerResponse{}, nil
	}
	s.stop(c, 0)
	s.store.mu.Lock()
	defer s.store.mu.Unlock()
	delete(s.store.containers, c.ID)
	return &cri.RemoveContainerResponse{}, os.RemoveAll(s.store.path("containers", c.ID))
}

func (s *runtimeService) ListContainers(_ context.Context, request *cri.ListContainersRequest) (*cri.ListContainersResponse, error) {
	filter := request.GetFilter()
	s.store.mu.Lock()
	defer s.store.mu.Unlock()
	answer := &cri.ListContainersResponse{}
	for _, c := range s.store.containers {
		if filter.GetId() != "" && filter.GetId() != c.ID ||
			filter.GetPodSandboxId() != "" && filter.GetPodSandboxId() != c.SandboxID ||
			filter.GetState() != nil && filter.GetState().GetState() != c.State ||
			!labels.SelectorFromSet(filter.GetLabelSelector()).Matches(labels.Set(c.Config.GetLabels())) {
			continue
		}
		answer.Containers = append(answer.Containers, &cri.Container{
			Id:           c.ID,
			PodSandboxId: c.SandboxID,
			Metadata:     c.Config.GetMetadata(),
			Image:        c.Config.GetImage(),
			ImageRef:     c.Config.GetImage().GetImage(),
			ImageId:      c.Config.GetImage().GetImage(),
			State:        c.State,
			CreatedAt:    c.Created,
			Labels:       c.Config.GetLabels(),
			Annotations:  c.Config.GetAnnotations(),
		})
	}
	return answer, nil
}

func (s *runtimeService) ContainerStatus(_ context.Context, request *cri.ContainerStatusRequest) (*cri.ContainerStatusResponse, error) {
	c, err := s.store.container(request.GetContainerId())
	if err != nil {
		return nil, err
	}
	pod, err := s.store.sandbox(c.SandboxID)
	if err != nil {
		return nil, err
	}
	s.store.mu.Lock()
	defer s.store.mu.Unlock()
	image := c.Config.GetImage()
	shown := image
	if asked := image.GetUserSpecifiedImage(); asked != "" {
		shown = &cri.ImageSpec{Image: asked}
	}
	return &cri.ContainerStatusResponse{Status: &cri.ContainerStatus{
		Id:          c.ID,
		Metadata:    c.Config.GetMetadata(),
		State:       c.State,
		CreatedAt:   c.Created,
		StartedAt:   c.Started,
		FinishedAt:  c.Finished,
		ExitCode:    c.ExitCode,
		Image:       shown,
		ImageRef:    image.GetImage(),
		ImageId:     image.GetImage(),
		Reason:      c.Reason,
		Message:     c.Message,
		Labels:      c.Config.GetLabels(),
		Annotations: c.Config.GetAnnotations(),
		Mounts:      c.Config.GetMounts(),
		LogPath:     filepath.Join(pod.Config.GetLogDirectory(), c.Config.GetLogPath()),
		StopSignal:  stopSignal(c.Config.GetStopSignal()),
	}}, nil
}

func stopSignal(asked cri.Signal) cri.Signal {
	if asked == cri.Signal_SIGNAL_RUNTIME_DEFAULT {
		return cri.Signal_SIGNAL_SIGTERM
	}
	return asked
}

func (s *runtimeService) UpdateContainerResources(context.Context, *cri.UpdateContainerResourcesRequest) (*cri.UpdateContainerResourcesResponse, error) {
	return &cri.UpdateContainerResourcesResponse{}, nil
}

func (s *runtimeService) ReopenContainerLog(_ context.Context, request *cri.ReopenContainerLogRequest) (*cri.ReopenContainerLogResponse, error) {
	c, err := s.store.container(request.GetContainerId())
	if err != nil {
		return nil, err
	}
	if c.Fake {
		pod, err := s.store.sandbox(c.SandboxID)
		if err != nil {
			return nil, err
		}
		return &cri.ReopenContainerLogResponse{}, s.explainFake(c, pod)
	}
	return &cri.ReopenContainerLogResponse{}, reopenLog(c.Shim)
}
