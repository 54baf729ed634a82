// Command image-service answers the CRI's calls for images in front of containerd, which pulls by itself. It only
// replaces digests: the rehearsal's registry has no image with the content of a published one, so it is asked for a tag
// of the digest's name.
package main

import (
	"context"
	"log"
	"net"
	"os"
	"os/exec"
	"strings"
	"time"

	images "github.com/containerd/containerd/api/services/images/v1"
	"github.com/distribution/reference"
	"github.com/pelletier/go-toml/v2"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	cri "k8s.io/cri-api/pkg/apis/runtime/v1"
)

type service struct {
	cri.UnimplementedImageServiceServer
	next  cri.ImageServiceClient
	store images.ImagesClient
}

func main() {
	log.SetFlags(log.Ltime | log.Lmicroseconds)
	if err := serve(os.Args[1], os.Args[2]); err != nil {
		log.Fatal(err)
	}
}

// serve listens on a socket, with containerd's configuration for its address and the sandbox's image, which containerd
// would pull by its digest.
func serve(socket, configuration string) error {
	text, err := os.ReadFile(configuration)
	if err != nil {
		return err
	}
	var config struct {
		GRPC    struct{ Address string } `toml:"grpc"`
		Plugins struct {
			Images struct {
				Pinned struct{ Sandbox string } `toml:"pinned_images"`
			} `toml:"io.containerd.cri.v1.images"`
		}
	}
	if err := toml.Unmarshal(text, &config); err != nil {
		return err
	}
	connection, err := grpc.NewClient("unix://"+config.GRPC.Address, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		return err
	}
	s := &service{next: cri.NewImageServiceClient(connection), store: images.NewImagesClient(connection)}
	pause := &cri.PullImageRequest{Image: &cri.ImageSpec{Image: config.Plugins.Images.Pinned.Sandbox}}
	for err := s.ready(); err != nil; err = s.ready() {
		time.Sleep(20 * time.Millisecond)
	}
	if _, err := s.PullImage(context.Background(), pause); err != nil {
		log.Printf("the sandbox's image: %v", err)
	}
	if err := os.Remove(socket); err != nil && !os.IsNotExist(err) {
		return err
	}
	listener, err := net.Listen("unix", socket)
	if err != nil {
		return err
	}
	server := grpc.NewServer()
	cri.RegisterImageServiceServer(server, s)
	if out, err := exec.Command("systemd-notify", "--ready").CombinedOutput(); err != nil {
		log.Printf("systemd-notify: %v %s", err, out)
	}
	return server.Serve(listener)
}

func (s *service) ready() error {
	_, err := s.next.ImageFsInfo(context.Background(), &cri.ImageFsInfoRequest{})
	return err
}

func (s *service) PullImage(ctx context.Context, request *cri.PullImageRequest) (*cri.PullImageResponse, error) {
	named, err := reference.ParseDockerRef(request.GetImage().GetImage())
	if err != nil {
		return nil, status.Error(codes.InvalidArgument, err.Error())
	}
	digested, ok := named.(reference.Digested)
	if !ok {
		return s.next.PullImage(ctx, request)
	}
	tagged := named.Name() + ":" + strings.Replace(digested.Digest().String(), ":", "-", 1)
	request.Image.Image = tagged
	pulled, err := s.next.PullImage(ctx, request)
	if err != nil {
		return nil, err
	}
	ctx = metadata.AppendToOutgoingContext(ctx, "containerd-namespace", "k8s.io")
	found, err := s.store.Get(ctx, &images.GetImageRequest{Name: tagged})
	if err != nil {
		return nil, err
	}
	image := found.GetImage()
	image.Name = named.String()
	if _, err := s.store.Create(ctx, &images.CreateImageRequest{Image: image}); err != nil && status.Code(err) != codes.AlreadyExists {
		return nil, err
	}
	// containerd's CRI learns of it by an event.
	known := &cri.ImageStatusRequest{Image: &cri.ImageSpec{Image: named.String()}}
	for {
		if answer, err := s.next.ImageStatus(ctx, known); err != nil || answer.GetImage() != nil {
			return pulled, err
		}
		time.Sleep(5 * time.Millisecond)
	}
}

// The calls that go on as they are.

func (s *service) ListImages(ctx context.Context, request *cri.ListImagesRequest) (*cri.ListImagesResponse, error) {
	return s.next.ListImages(ctx, request)
}

func (s *service) ImageStatus(ctx context.Context, request *cri.ImageStatusRequest) (*cri.ImageStatusResponse, error) {
	return s.next.ImageStatus(ctx, request)
}

func (s *service) RemoveImage(ctx context.Context, request *cri.RemoveImageRequest) (*cri.RemoveImageResponse, error) {
	return s.next.RemoveImage(ctx, request)
}

func (s *service) ImageFsInfo(ctx context.Context, request *cri.ImageFsInfoRequest) (*cri.ImageFsInfoResponse, error) {
	return s.next.ImageFsInfo(ctx, request)
}
