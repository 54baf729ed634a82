// Command windows-runtime answers the kubelet of a Windows machine at a socket in containerd's place: no runtime of
// Windows runs here. It is not ready, and knows of no pods, for which the Node, its certificates and its status do not
// wait.
package main

import (
	"context"
	"log"
	"net"
	"os"

	"google.golang.org/grpc"
	cri "k8s.io/cri-api/pkg/apis/runtime/v1"
)

type windows struct {
	cri.UnimplementedRuntimeServiceServer
	cri.UnimplementedImageServiceServer
}

func main() {
	listener, err := net.Listen("unix", os.Args[1])
	if err != nil {
		log.Fatal(err)
	}
	server := grpc.NewServer()
	cri.RegisterRuntimeServiceServer(server, windows{})
	cri.RegisterImageServiceServer(server, windows{})
	log.Fatal(server.Serve(listener))
}

// Version has a name that nobody takes for containerd's.
func (windows) Version(context.Context, *cri.VersionRequest) (*cri.VersionResponse, error) {
	return &cri.VersionResponse{Version: "0.1.0", RuntimeName: "rehearsal", RuntimeVersion: "1.0.0", RuntimeApiVersion: "v1"}, nil
}

func (windows) Status(context.Context, *cri.StatusRequest) (*cri.StatusResponse, error) {
	unready := func(condition string) *cri.RuntimeCondition {
		return &cri.RuntimeCondition{Type: condition, Reason: "Windows", Message: "pods of Windows nodes do not run in a rehearsal"}
	}
	conditions := []*cri.RuntimeCondition{unready(cri.RuntimeReady), unready(cri.NetworkReady)}
	return &cri.StatusResponse{Status: &cri.RuntimeStatus{Conditions: conditions}}, nil
}

// ImageFsInfo tells the kubelet that images are served (k8s.io/cri-client: pkg/remote_image.go).
func (windows) ImageFsInfo(context.Context, *cri.ImageFsInfoRequest) (*cri.ImageFsInfoResponse, error) {
	return &cri.ImageFsInfoResponse{}, nil
}
