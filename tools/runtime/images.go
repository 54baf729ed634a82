package main

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/distribution/reference"
	"golang.org/x/sys/unix"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	cri "k8s.io/cri-api/pkg/apis/runtime/v1"
)

// imageStore answers for images, without downloads: a pull succeeds for every reference that containerd could parse.
type imageStore struct {
	cri.UnimplementedImageServiceServer
	table map[string]*imageConfig
	root  string
	// file keeps every reference ever pulled, as it was asked for, one a line, for the rehearsal's checks.
	file string
	mu   sync.Mutex
	// pulled maps an image's id to its reference in full.
	pulled map[string]string
}

func openImages(root, file string, table map[string]*imageConfig) (*imageStore, error) {
	s := &imageStore{table: table, root: root, file: file, pulled: map[string]string{}}
	text, err := os.ReadFile(file)
	if err != nil && !os.IsNotExist(err) {
		return nil, err
	}
	for image := range strings.Lines(string(text)) {
		if named, err := parse(strings.TrimSpace(image)); err == nil {
			s.pulled[idOf(named)] = named.String()
		}
	}
	return s, nil
}

// parse gives a reference's full form, as containerd's CRI plug-in does (containerd: internal/cri/util,
// NormalizeImageRef).
func parse(image string) (reference.Named, error) {
	named, err := reference.ParseDockerRef(image)
	if err != nil {
		return nil, status.Errorf(codes.InvalidArgument, "failed to parse image reference %q: %v", image, err)
	}
	return named, nil
}

// idOf makes an id from a reference, as there is no content.
func idOf(named reference.Named) string {
	sum := sha256.Sum256([]byte(named.String()))
	return "sha256:" + hex.EncodeToString(sum[:])
}

// lookUp finds a pulled image by its id or reference.
func (s *imageStore) lookUp(image string) (id, full string, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if full, ok = s.pulled[image]; ok {
		return image, full, true
	}
	named, err := parse(image)
	if err != nil {
		return "", "", false
	}
	full, ok = s.pulled[idOf(named)]
	return idOf(named), full, ok
}

// config is what is known of a pulled image; nil without a program of it.
func (s *imageStore) config(image string) *imageConfig {
	_, full, ok := s.lookUp(image)
	if !ok {
		return nil
	}
	named, err := reference.ParseNormalizedNamed(full)
	if err != nil {
		return nil
	}
	return s.known(named)
}

// known is what the table says of an image: of its tag, where one version's program is at hand, or of all versions.
func (s *imageStore) known(named reference.Named) *imageConfig {
	if tagged, ok := named.(reference.Tagged); ok {
		if found := s.table[named.Name()+":"+tagged.Tag()]; found != nil {
			return found
		}
	}
	return s.table[named.Name()]
}

func (s *imageStore) PullImage(_ context.Context, request *cri.PullImageRequest) (*cri.PullImageResponse, error) {
	named, err := parse(request.GetImage().GetImage())
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.pulled[idOf(named)] = named.String()
	file, err := os.OpenFile(s.file, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	if _, err := fmt.Fprintln(file, request.GetImage().GetImage()); err != nil {
		return nil, err
	}
	return &cri.PullImageResponse{ImageRef: idOf(named)}, nil
}

func (s *imageStore) ImageStatus(_ context.Context, request *cri.ImageStatusRequest) (*cri.ImageStatusResponse, error) {
	id, full, ok := s.lookUp(request.GetImage().GetImage())
	if !ok {
		return &cri.ImageStatusResponse{}, nil
	}
	return &cri.ImageStatusResponse{Image: s.describe(id, full)}, nil
}

func (s *imageStore) ListImages(context.Context, *cri.ListImagesRequest) (*cri.ListImagesResponse, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	answer := &cri.ListImagesResponse{}
	for id, full := range s.pulled {
		answer.Images = append(answer.Images, s.describe(id, full))
	}
	return answer, nil
}

func (s *imageStore) describe(id, full string) *cri.Image {
	image := &cri.Image{Id: id, Size: 1}
	named, err := reference.ParseNormalizedNamed(full)
	if err != nil {
		return image
	}
	if digested, ok := named.(reference.Digested); ok {
		image.RepoDigests = []string{named.Name() + "@" + digested.Digest().String()}
	} else {
		image.RepoTags = []string{full}
	}
	// Without a user the kubelet takes an image for root's (kubernetes: pkg/kubelet/kuberuntime/helpers.go,
	// getImageUser), and starts none with runAsNonRoot. An unknown one has that of distroless' `nonroot`.
	image.Uid = &cri.Int64Value{Value: 65532}
	if s.known(named) != nil {
		image.Uid = &cri.Int64Value{Value: 0}
	}
	return image
}

func (s *imageStore) RemoveImage(_ context.Context, request *cri.RemoveImageRequest) (*cri.RemoveImageResponse, error) {
	id, _, ok := s.lookUp(request.GetImage().GetImage())
	if ok {
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(s.pulled, id)
	}
	return &cri.RemoveImageResponse{}, nil
}

func (s *imageStore) ImageFsInfo(context.Context, *cri.ImageFsInfoRequest) (*cri.ImageFsInfoResponse, error) {
	var fs unix.Statfs_t
	if err := unix.Statfs(s.root, &fs); err != nil {
		return nil, err
	}
	usage := &cri.FilesystemUsage{
		Timestamp:  time.Now().UnixNano(),
		FsId:       &cri.FilesystemIdentifier{Mountpoint: s.root},
		UsedBytes:  &cri.UInt64Value{Value: (fs.Blocks - fs.Bfree) * uint64(fs.Bsize)},
		InodesUsed: &cri.UInt64Value{Value: fs.Files - fs.Ffree},
	}
	return &cri.ImageFsInfoResponse{
		ImageFilesystems:     []*cri.FilesystemUsage{usage},
		ContainerFilesystems: []*cri.FilesystemUsage{usage},
	}, nil
}
