package main

import (
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/containernetworking/cni/libcni"
	"github.com/distribution/reference"
	"github.com/pelletier/go-toml/v2"
	cri "k8s.io/cri-api/pkg/apis/runtime/v1"
)

// runtimeConfig is the part of containerd's configuration that this runtime acts on, with containerd's own defaults.
type runtimeConfig struct {
	// Address is the socket's path.
	Address string
	// Root is where images would lie.
	Root string
	// CNIConf and CNIBin are the folders of network configurations and plug-ins.
	CNIConf string
	CNIBin  []string
	// SystemdCgroup is the default runtime's cgroup driver, which the kubelet asks for.
	SystemdCgroup bool
}

// The keys of containerd 2.x, version 3 (containerd: docs/cri/config.md).
type containerdFile struct {
	Version int
	Root    string
	GRPC    struct{ Address string } `toml:"grpc"`
	Plugins struct {
		Runtime struct {
			CNI struct {
				ConfDir string   `toml:"conf_dir"`
				BinDirs []string `toml:"bin_dirs"`
			} `toml:"cni"`
			Containerd struct {
				DefaultRuntime string `toml:"default_runtime_name"`
				Runtimes       map[string]struct {
					Options struct{ SystemdCgroup bool }
				}
			}
		} `toml:"io.containerd.cri.v1.runtime"`
	}
}

func readConfig(path string) (*runtimeConfig, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var file containerdFile
	if err := toml.Unmarshal(text, &file); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	if file.Version != 3 {
		return nil, fmt.Errorf("%s: version %d, wanted 3", path, file.Version)
	}
	runtime := file.Plugins.Runtime
	config := &runtimeConfig{
		Address:       or(file.GRPC.Address, "/run/containerd/containerd.sock"),
		Root:          or(file.Root, "/var/lib/containerd"),
		CNIConf:       or(runtime.CNI.ConfDir, "/etc/cni/net.d"),
		CNIBin:        runtime.CNI.BinDirs,
		SystemdCgroup: runtime.Containerd.Runtimes[or(runtime.Containerd.DefaultRuntime, "runc")].Options.SystemdCgroup,
	}
	if len(config.CNIBin) == 0 {
		config.CNIBin = []string{"/opt/cni/bin"}
	}
	return config, os.MkdirAll(config.Root, 0o711)
}

func or(text, otherwise string) string {
	if text == "" {
		return otherwise
	}
	return text
}

// imageConfig is what is known of an image: the places of its programs, and the fields of an OCI image's configuration
// (opencontainers/image-spec: config.md) that containers need here.
type imageConfig struct {
	// Image is the repository without tag and digest, `registry.k8s.io/etcd`.
	Image string `json:"image"`
	// Files maps a path in the container to the machine's file there.
	Files map[string]string `json:"files"`
	// System adds the machine's own programs, read-only, for a small distribution.
	System bool `json:"system"`
	// Programs are the only first words of commands that run, where not every program is at hand. Default: all.
	Programs []string `json:"programs"`
}

// runs tells whether a container's program is at hand.
func (image *imageConfig) runs(argv []string) bool {
	if image == nil || len(argv) == 0 {
		return false
	}
	return len(image.Programs) == 0 || slices.Contains(image.Programs, argv[0])
}

func readImageTable(path string) (map[string]*imageConfig, error) {
	table := map[string]*imageConfig{}
	if path == "" {
		return table, nil
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var images []*imageConfig
	if err := json.Unmarshal(text, &images); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	for _, image := range images {
		named, err := reference.ParseNormalizedNamed(image.Image)
		if err != nil {
			return nil, fmt.Errorf("%s: %s: %w", path, image.Image, err)
		}
		table[named.String()] = image
	}
	return table, nil
}

// network loads the pod network's configuration, of which the first file by name counts, with containerd's messages
// (containerd/go-cni: loadFromConfDir).
func (config *runtimeConfig) network() (*libcni.NetworkConfigList, error) {
	files, err := libcni.ConfFiles(config.CNIConf, []string{".conf", ".conflist", ".json"})
	if err != nil {
		return nil, fmt.Errorf("failed to read config file: %w", err)
	}
	if len(files) == 0 {
		return nil, fmt.Errorf("no network config found in %s: cni plugin not initialized", config.CNIConf)
	}
	first := slices.Min(files)
	if strings.HasSuffix(first, ".conflist") {
		return libcni.ConfListFromFile(first)
	}
	single, err := libcni.ConfFromFile(first)
	if err != nil {
		return nil, err
	}
	if single.Network.Type == "" {
		return nil, fmt.Errorf("network type not found in %s", first)
	}
	return libcni.ConfListFromConf(single)
}

// imagePath is PATH where an image sets none, runc's default and that of the images of Kubernetes.
const imagePath = "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

// commandOf is the command line of a container; images have none here.
func commandOf(config *cri.ContainerConfig) []string {
	return append(append([]string{}, config.GetCommand()...), config.GetArgs()...)
}

func environmentOf(config *cri.ContainerConfig, pod *sandbox) []string {
	// Programs of a cluster that lives for a minute need not collect garbage as often.
	env := []string{imagePath, "HOSTNAME=" + hostnameOf(pod), "GOGC=400"}
	for _, pair := range config.GetEnvs() {
		env = append(env, pair.GetKey()+"="+string(pair.GetValue()))
	}
	return env
}

// hostnameOf is a pod's host name. Its processes see the machine's: the namespace of host names shows the rehearsal
// what belongs to a machine.
func hostnameOf(pod *sandbox) string {
	if name := pod.Config.GetHostname(); name != "" {
		return name
	}
	name, _ := os.Hostname()
	return name
}
