// Command container-runtime is the rehearsal's container runtime: it answers the CRI in containerd's place, at the
// address of containerd's own configuration. Containers whose images it has a program for are processes in the machine;
// all others count as running without one (see fakeContainers.go).
package main

import (
	"context"
	"flag"
	"log"
	"net"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"
	"google.golang.org/grpc"
	cri "k8s.io/cri-api/pkg/apis/runtime/v1"
)

// Name and version as the kubelet reports them in the Node, so that nobody takes this for containerd.
const (
	runtimeName    = "rehearsal"
	runtimeVersion = "1.0.0"
)

func main() {
	log.SetFlags(log.Ltime | log.Lmicroseconds)
	if len(os.Args) == 3 && os.Args[1] == "shim" {
		os.Exit(shimMain(os.Args[2]))
	}
	if len(os.Args) == 3 && os.Args[1] == "init" {
		initMain(os.Args[2])
	}
	if len(os.Args) == 3 && os.Args[1] == "windows" {
		log.Fatal(serveWindows(os.Args[2]))
	}
	config := flag.String("config", "/etc/containerd/config.toml", "containerd's configuration")
	images := flag.String("images", "", "JSON file with the images whose programs are at hand")
	state := flag.String("state", "/run/container-runtime", "folder for sandboxes and containers")
	kubeconfig := flag.String("kubeconfig", "/etc/kubernetes/kubelet.conf", "the kubelet's credentials, by which fakes read what a pod asks for")
	flag.Parse()
	if err := serve(*config, *images, *state, *kubeconfig); err != nil {
		log.Fatal(err)
	}
}

func serve(configFile, imageFile, state, kubeconfig string) error {
	config, err := readConfig(configFile)
	if err != nil {
		return err
	}
	table, err := readImageTable(imageFile)
	if err != nil {
		return err
	}
	store, err := openStore(state)
	if err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(context.Background(), unix.SIGTERM, unix.SIGINT)
	defer stop()
	fakes, err := newFakeContainers(kubeconfig)
	if err != nil {
		return err
	}
	imageStore, err := openImages(config.Root, filepath.Join(state, "images"), table)
	if err != nil {
		return err
	}
	network := newPodNetwork(config, filepath.Join(state, "netns"), store)
	service := &runtimeService{
		config: config, store: store, images: imageStore, network: network, fakes: fakes,
	}
	if err := service.startStreaming(); err != nil {
		return err
	}
	service.reattach()
	listener, err := listen(config.Address)
	if err != nil {
		return err
	}
	server := grpc.NewServer()
	cri.RegisterRuntimeServiceServer(server, service)
	cri.RegisterImageServiceServer(server, service.images)
	go func() {
		<-ctx.Done()
		// The containers go on, as with containerd and a unit of KillMode=process.
		server.Stop()
	}()
	log.Printf("answers on %s", config.Address)
	notifyReady()
	return server.Serve(listener)
}

func listen(address string) (net.Listener, error) {
	if err := os.MkdirAll(filepath.Dir(address), 0o711); err != nil {
		return nil, err
	}
	if err := os.Remove(address); err != nil && !os.IsNotExist(err) {
		return nil, err
	}
	return net.Listen("unix", address)
}

// notifyReady tells the service manager of a unit with Type=notify.
func notifyReady() {
	if os.Getenv("NOTIFY_SOCKET") == "" {
		return
	}
	if out, err := exec.Command("systemd-notify", "--ready").CombinedOutput(); err != nil {
		log.Printf("systemd-notify: %v %s", err, out)
	}
}

// windowsRuntime answers the kubelet of a Windows machine. It has no pods, takes none, and is not ready. The Node, its
// certificates and its status do not wait for a ready runtime.
type windowsRuntime struct {
	cri.UnimplementedRuntimeServiceServer
	cri.UnimplementedImageServiceServer
}

// serveWindows answers until the process is ended, at unix:// with a path.
func serveWindows(address string) error {
	listener, err := net.Listen("unix", strings.TrimPrefix(address, "unix://"))
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
		return &cri.RuntimeCondition{Type: condition, Reason: "Windows", Message: "pods of Windows nodes do not run in a rehearsal"}
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
