package main

import (
	"context"
	"os"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"k8s.io/apimachinery/pkg/labels"
	cri "k8s.io/cri-api/pkg/apis/runtime/v1"
	"k8s.io/cri-streaming/pkg/streaming"
)

// runtimeService answers the CRI's calls for pods and containers.
type runtimeService struct {
	cri.UnimplementedRuntimeServiceServer
	config    *runtimeConfig
	store     *store
	images    *imageStore
	network   *podNetwork
	fakes     *fakeContainers
	streaming streaming.Server
}

func (s *runtimeService) Version(context.Context, *cri.VersionRequest) (*cri.VersionResponse, error) {
	return &cri.VersionResponse{
		Version:           "0.1.0",
		RuntimeName:       runtimeName,
		RuntimeVersion:    runtimeVersion,
		RuntimeApiVersion: "v1",
	}, nil
}

func (s *runtimeService) Status(context.Context, *cri.StatusRequest) (*cri.StatusResponse, error) {
	network := &cri.RuntimeCondition{Type: cri.NetworkReady, Status: true}
	if err := s.network.problem(); err != nil {
		// Reason and message as containerd gives them (internal/cri/server/status.go).
		network.Status, network.Reason = false, "NetworkPluginNotReady"
		network.Message = "Network plugin returns error: " + err.Error()
	}
	return &cri.StatusResponse{
		Status:          &cri.RuntimeStatus{Conditions: []*cri.RuntimeCondition{{Type: cri.RuntimeReady, Status: true}, network}},
		RuntimeHandlers: []*cri.RuntimeHandler{{Name: ""}, {Name: "runc"}},
	}, nil
}

func (s *runtimeService) RuntimeConfig(context.Context, *cri.RuntimeConfigRequest) (*cri.RuntimeConfigResponse, error) {
	driver := cri.CgroupDriver_CGROUPFS
	if s.config.SystemdCgroup {
		driver = cri.CgroupDriver_SYSTEMD
	}
	return &cri.RuntimeConfigResponse{Linux: &cri.LinuxRuntimeConfiguration{CgroupDriver: driver}}, nil
}

func (s *runtimeService) UpdateRuntimeConfig(_ context.Context, request *cri.UpdateRuntimeConfigRequest) (*cri.UpdateRuntimeConfigResponse, error) {
	if text := request.GetRuntimeConfig().GetNetworkConfig().GetPodCidr(); text != "" {
		if err := s.network.setRange(text); err != nil {
			return nil, status.Error(codes.InvalidArgument, err.Error())
		}
	}
	return &cri.UpdateRuntimeConfigResponse{}, nil
}

func (s *runtimeService) RunPodSandbox(_ context.Context, request *cri.RunPodSandboxRequest) (*cri.RunPodSandboxResponse, error) {
	config, handler := request.GetConfig(), request.GetRuntimeHandler()
	if handler != "" && handler != "runc" {
		return nil, status.Errorf(codes.Unknown, "failed to get sandbox runtime: no runtime for %q is configured", handler)
	}
	pod := &sandbox{ID: newID(), Config: config, Handler: handler, Created: time.Now().UnixNano(), Ready: true}
	if !sharesNetwork(config) {
		ip, netns, err := s.network.add(pod.ID)
		if err != nil {
			return nil, status.Errorf(codes.Unknown, "failed to setup network for sandbox %q: %v", pod.ID, err)
		}
		pod.IP, pod.NetNS = ip, netns
	}
	if folder := config.GetLogDirectory(); folder != "" {
		if err := os.MkdirAll(folder, 0o755); err != nil {
			return nil, err
		}
	}
	s.store.mu.Lock()
	defer s.store.mu.Unlock()
	s.store.sandboxes[pod.ID] = pod
	s.store.save("sandboxes", pod.ID, pod)
	return &cri.RunPodSandboxResponse{PodSandboxId: pod.ID}, nil
}

// sharesNetwork tells whether a pod has the machine's network.
func sharesNetwork(config *cri.PodSandboxConfig) bool {
	return config.GetLinux().GetSecurityContext().GetNamespaceOptions().GetNetwork() == cri.NamespaceMode_NODE
}

func (s *runtimeService) StopPodSandbox(_ context.Context, request *cri.StopPodSandboxRequest) (*cri.StopPodSandboxResponse, error) {
	pod, err := s.store.sandbox(request.GetPodSandboxId())
	if err != nil {
		return &cri.StopPodSandboxResponse{}, nil
	}
	for _, c := range s.store.of(pod.ID) {
		s.stop(c, 0)
	}
	s.store.mu.Lock()
	defer s.store.mu.Unlock()
	if pod.Ready && pod.NetNS != "" {
		s.network.remove(pod.ID, pod.NetNS)
	}
	pod.Ready = false
	s.store.save("sandboxes", pod.ID, pod)
	return &cri.StopPodSandboxResponse{}, nil
}

func (s *runtimeService) RemovePodSandbox(ctx context.Context, request *cri.RemovePodSandboxRequest) (*cri.RemovePodSandboxResponse, error) {
	pod, err := s.store.sandbox(request.GetPodSandboxId())
	if err != nil {
		return &cri.RemovePodSandboxResponse{}, nil
	}
	if _, err := s.StopPodSandbox(ctx, &cri.StopPodSandboxRequest{PodSandboxId: pod.ID}); err != nil {
		return nil, err
	}
	for _, c := range s.store.of(pod.ID) {
		if _, err := s.RemoveContainer(ctx, &cri.RemoveContainerRequest{ContainerId: c.ID}); err != nil {
			return nil, err
		}
	}
	s.store.mu.Lock()
	defer s.store.mu.Unlock()
	delete(s.store.sandboxes, pod.ID)
	return &cri.RemovePodSandboxResponse{}, os.RemoveAll(s.store.path("sandboxes", pod.ID))
}

func (pod *sandbox) state() cri.PodSandboxState {
	if pod.Ready {
		return cri.PodSandboxState_SANDBOX_READY
	}
	return cri.PodSandboxState_SANDBOX_NOTREADY
}

func (s *runtimeService) PodSandboxStatus(_ context.Context, request *cri.PodSandboxStatusRequest) (*cri.PodSandboxStatusResponse, error) {
	pod, err := s.store.sandbox(request.GetPodSandboxId())
	if err != nil {
		return nil, err
	}
	s.store.mu.Lock()
	defer s.store.mu.Unlock()
	return &cri.PodSandboxStatusResponse{Status: &cri.PodSandboxStatus{
		Id:          pod.ID,
		Metadata:    pod.Config.GetMetadata(),
		State:       pod.state(),
		CreatedAt:   pod.Created,
		Network:     &cri.PodSandboxNetworkStatus{Ip: pod.IP},
		Linux:       &cri.LinuxPodSandboxStatus{Namespaces: &cri.Namespace{Options: pod.Config.GetLinux().GetSecurityContext().GetNamespaceOptions()}},
		Labels:      pod.Config.GetLabels(),
		Annotations: pod.Config.GetAnnotations(),

		RuntimeHandler: pod.Handler,
	}}, nil
}

func (s *runtimeService) ListPodSandbox(_ context.Context, request *cri.ListPodSandboxRequest) (*cri.ListPodSandboxResponse, error) {
	filter := request.GetFilter()
	s.store.mu.Lock()
	defer s.store.mu.Unlock()
	answer := &cri.ListPodSandboxResponse{}
	for _, pod := range s.store.sandboxes {
		if filter.GetId() != "" && filter.GetId() != pod.ID ||
			filter.GetState() != nil && filter.GetState().GetState() != pod.state() ||
			!labels.SelectorFromSet(filter.GetLabelSelector()).Matches(labels.Set(pod.Config.GetLabels())) {
			continue
		}
		answer.Items = append(answer.Items, &cri.PodSandbox{
			Id:             pod.ID,
			Metadata:       pod.Config.GetMetadata(),
			State:          pod.state(),
			CreatedAt:      pod.Created,
			Labels:         pod.Config.GetLabels(),
			Annotations:    pod.Config.GetAnnotations(),
			RuntimeHandler: pod.Handler,
		})
	}
	return answer, nil
}
