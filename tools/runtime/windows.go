package main

import (
	"context"
	"log"
	"net"
	"strings"

	"google.golang.org/grpc"
	cri "k8s.io/cri-api/pkg/apis/runtime/v1"
)

// windowsRuntime answers kubelet.exe under Wine, which can reach no named pipe there. It has no pods, takes none, and says that it is not ready:
// a kubelet that hears the contrary starts its device manager, which needs a Unix socket that Wine 8 does not have, and ends. The Node, its
// certificates and what it says of itself do not wait for a ready runtime.
type windowsRuntime struct {
	cri.UnimplementedRuntimeServiceServer
	cri.UnimplementedImageServiceServer
}

// serveWindows answers until the process is ended. The address is host:port, or unix:// with a path for a kubelet that was built for Linux.
func serveWindows(address string) error {
	network := "tcp"
	if path, isPath := strings.CutPrefix(address, "unix://"); isPath {
		network, address = "unix", path
	}
	listener, err := net.Listen(network, address)
	if err != nil {
		return err
	}
	server := grpc.NewServer()
	cri.RegisterRuntimeServiceServer(server, windowsRuntime{})
	cri.RegisterImageServiceServer(server, windowsRuntime{})
	log.Printf("answers on %s", address)
	return server.Serve(listener)
}

func (windowsRuntime) Version(context.Context, *cri.VersionRequest) (*cri.VersionResponse, error) {
	return (&runtimeService{}).Version(context.Background(), nil)
}

func (windowsRuntime) Status(context.Context, *cri.StatusRequest) (*cri.StatusResponse, error) {
	unready := func(condition string) *cri.RuntimeCondition {
		return &cri.RuntimeCondition{Type: condition, Reason: "Wine", Message: "pods of Windows nodes do not run in a rehearsal"}
	}
	return &cri.StatusResponse{
		Status: &cri.RuntimeStatus{Conditions: []*cri.RuntimeCondition{unready(cri.RuntimeReady), unready(cri.NetworkReady)}},
	}, nil
}

func (windowsRuntime) UpdateRuntimeConfig(context.Context, *cri.UpdateRuntimeConfigRequest) (*cri.UpdateRuntimeConfigResponse, error) {
	return &cri.UpdateRuntimeConfigResponse{}, nil
}

func (windowsRuntime) ListPodSandbox(context.Context, *cri.ListPodSandboxRequest) (*cri.ListPodSandboxResponse, error) {
	return &cri.ListPodSandboxResponse{}, nil
}

func (windowsRuntime) ListContainers(context.Context, *cri.ListContainersRequest) (*cri.ListContainersResponse, error) {
	return &cri.ListContainersResponse{}, nil
}

func (windowsRuntime) ListImages(context.Context, *cri.ListImagesRequest) (*cri.ListImagesResponse, error) {
	return &cri.ListImagesResponse{}, nil
}

func (windowsRuntime) ImageFsInfo(context.Context, *cri.ImageFsInfoRequest) (*cri.ImageFsInfoResponse, error) {
	return &cri.ImageFsInfoResponse{}, nil
}
