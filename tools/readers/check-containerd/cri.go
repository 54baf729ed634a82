package main

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	runhcs "github.com/Microsoft/hcsshim/cmd/containerd-shim-runhcs-v1/options"
	runc "github.com/containerd/containerd/api/types/runc/options"
	"github.com/containerd/containerd/v2/plugins"
	"github.com/distribution/reference"
	"github.com/pelletier/go-toml/v2"
)

const (
	runtimeURI = "io.containerd.cri.v1.runtime"
	imagesURI  = "io.containerd.cri.v1.images"
)

// windowsRuntimes restates the built-in settings that internal/cri/config/config_windows.go compiles for Windows only,
// as far as a file's runtimes are merged with them.
const windowsRuntimes = `
max_container_log_line_size = 16384
drain_exec_sync_io_timeout = '0s'
[cni]
max_conf_num = 1
bin_dirs = ['C:\Program Files\containerd\cni\bin']
conf_dir = 'C:\Program Files\containerd\cni\conf'
[containerd]
default_runtime_name = 'runhcs-wcow-process'
[containerd.runtimes.runhcs-wcow-process]
runtime_type = 'io.containerd.runhcs.v1'
container_annotations = ['io.microsoft.container.*']
[containerd.runtimes.runhcs-wcow-process.options]
ScrubLogs = true
[containerd.runtimes.runhcs-wcow-hypervisor]
runtime_type = 'io.containerd.runhcs.v1'
pod_annotations = ['io.microsoft.virtualmachine.*']
container_annotations = ['io.microsoft.container.*']
[containerd.runtimes.runhcs-wcow-hypervisor.options]
ScrubLogs = true
SandboxIsolation = 1
ScaleCpuLimitsToSandbox = true
`

// What this program looks at in settings whose Go types are internal to containerd.
type runtimeSettings struct {
	Containerd struct {
		Runtimes map[string]struct {
			Type    string         `toml:"runtime_type"`
			Options map[string]any `toml:"options"`
		} `toml:"runtimes"`
	} `toml:"containerd"`
}

type imageSettings struct {
	Registry struct {
		ConfigPath string         `toml:"config_path"`
		Mirrors    map[string]any `toml:"mirrors"`
	} `toml:"registry"`
	PinnedImages             map[string]string `toml:"pinned_images"`
	ImagePullProgressTimeout string            `toml:"image_pull_progress_timeout"`
}

func view(settings, into any) error {
	text, err := toml.Marshal(settings)
	if err != nil {
		return err
	}
	return toml.Unmarshal(text, into)
}

// checkRuntimes reads each runtime's options into the type that its shim takes, as GenerateRuntimeOptions of
// internal/cri/config does when the first pod starts, which drops unknown options.
func checkRuntimes(settings any) error {
	var read runtimeSettings
	if err := view(settings, &read); err != nil {
		return err
	}
	var problems []error
	for _, name := range slices.Sorted(maps.Keys(read.Containerd.Runtimes)) {
		runtime := read.Containerd.Runtimes[name]
		var options any
		switch runtime.Type {
		case plugins.RuntimeRuncV2:
			options = &runc.Options{}
		case plugins.RuntimeRunhcsV1:
			options = &runhcs.Options{}
		default:
			problems = append(problems, fmt.Errorf("runtime %s has the type %q, known are %s and %s", name, runtime.Type, plugins.RuntimeRuncV2, plugins.RuntimeRunhcsV1))
			continue
		}
		text, err := toml.Marshal(runtime.Options)
		if err == nil {
			err = toml.NewDecoder(bytes.NewReader(text)).DisallowUnknownFields().Decode(options)
		}
		var unknown *toml.StrictMissingError
		if errors.As(err, &unknown) {
			for _, missing := range unknown.Errors {
				problems = append(problems, fmt.Errorf("runtime %s: unknown option %s", name, strings.Join(missing.Key(), ".")))
			}
		} else if err != nil {
			problems = append(problems, fmt.Errorf("runtime %s: %w", name, err))
		}
	}
	return errors.Join(problems...)
}

func checkImages(settings any) error {
	var read imageSettings
	if err := view(settings, &read); err != nil {
		return err
	}
	if read.Registry.ConfigPath != "" && len(read.Registry.Mirrors) > 0 {
		return errors.New("`mirrors` cannot be set when `config_path` is provided")
	}
	if _, err := time.ParseDuration(read.ImagePullProgressTimeout); read.ImagePullProgressTimeout != "" && err != nil {
		return fmt.Errorf("invalid image pull progress timeout: %w", err)
	}
	// A map to containerd, so that a misspelt name would pass; CRI looks up this one only.
	for _, name := range slices.Sorted(maps.Keys(read.PinnedImages)) {
		if name != "sandbox" {
			return fmt.Errorf("pinned_images names %q, CRI knows sandbox only", name)
		}
		// internal/cri/server/images/image_pull.go, getLabels: an image is pinned when its normalised name equals the text.
		image := read.PinnedImages[name]
		stored, err := reference.ParseDockerRef(image)
		if err != nil {
			return fmt.Errorf("pinned_images %s: %w", name, err)
		}
		if stored.String() != image {
			return fmt.Errorf("pinned_images %s is stored as %s, so it is not pinned as %s", name, stored, image)
		}
	}
	return nil
}
