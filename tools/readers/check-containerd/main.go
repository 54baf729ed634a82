// Command check-containerd reads configuration files as containerd 2.3 does: containerd's own loader, its migration to
// the newest version of the file, and each plugin's own settings. Unlike containerd, which goes on with a warning
// (containerd/containerd#10959), it takes unknown keys for problems.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"iter"
	stdlog "log"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"

	// Every plugin of the real program, so that a misspelt plugin is seen.
	_ "github.com/containerd/containerd/v2/cmd/containerd/builtins"
	"github.com/containerd/containerd/v2/cmd/containerd/server/config"
	"github.com/containerd/containerd/v2/plugins"
	"github.com/containerd/containerd/v2/version"
	"github.com/containerd/log"
	"github.com/containerd/plugin"
	"github.com/containerd/plugin/registry"
	"github.com/pelletier/go-toml/v2"
)

// request is one file to check, of a machine with linux or windows.
type request struct{ ID, OS, Text string }

// answer has an empty list when the file is fine.
type answer struct {
	ID       string   `json:"id"`
	Problems []string `json:"problems"`
}

// serve answers a JSON list of requests on standard input.
func serve(check func(request) []string) {
	var requests []request
	if err := json.NewDecoder(os.Stdin).Decode(&requests); err != nil {
		stdlog.Fatal(err)
	}
	answers := []answer{}
	for _, one := range requests {
		answers = append(answers, answer{one.ID, append([]string{}, check(one)...)})
	}
	if err := json.NewEncoder(os.Stdout).Encode(answers); err != nil {
		stdlog.Fatal(err)
	}
}

func main() {
	log.L.Logger.SetOutput(io.Discard)
	heard := &warnings{}
	log.L.Logger.AddHook(heard)
	serve(func(one request) []string {
		heard.texts = nil
		err := check(one)
		problems := heard.texts
		if err != nil {
			problems = append(problems, err...)
		}
		return problems
	})
}

// check returns what containerd refuses; what it only warns of is heard from its log.
func check(request request) []string {
	ctx := context.Background()
	folder, err := os.MkdirTemp("", "check-containerd-")
	if err != nil {
		return []string{err.Error()}
	}
	defer os.RemoveAll(folder)
	path := filepath.Join(folder, "config.toml")
	if err := os.WriteFile(path, []byte(request.Text), 0o600); err != nil {
		return []string{err.Error()}
	}

	registered := registry.Graph(func(*plugin.Registration) bool { return false })
	all := func() iter.Seq[plugin.Registration] { return slices.Values(registered) }
	loaded := config.Config{Version: version.ConfigVersion}
	if err := config.LoadConfigWithPlugins(ctx, path, all, &loaded); err != nil {
		return []string{strings.ReplaceAll(err.Error(), path, "the file")}
	}
	var problems []string
	known := map[string]bool{}
	for _, registration := range registered {
		known[registration.URI()] = true
		if registration.Config == nil {
			continue
		}
		own, err := ownConfig(registration, request.OS)
		if err == nil {
			_, err = loaded.Decode(ctx, registration.URI(), own)
		}
		if err == nil {
			err = validate(ctx, registration, own, folder)
		}
		if err != nil {
			problems = append(problems, fmt.Sprintf("plugin %s: %v", registration.URI(), err))
		}
	}
	for uri := range loaded.Plugins {
		if !known[uri] {
			problems = append(problems, fmt.Sprintf("no plugin is called %s", uri))
		}
	}
	slices.Sort(problems)
	return problems
}

// ownConfig is a copy of a plugin's settings before the file is read, so that requests do not reach each other.
func ownConfig(registration plugin.Registration, os string) (any, error) {
	text, err := toml.Marshal(registration.Config)
	if err != nil {
		return nil, err
	}
	own := reflect.New(reflect.TypeOf(registration.Config).Elem()).Interface()
	if os == "windows" && registration.URI() == runtimeURI {
		text = []byte(windowsRuntimes)
	}
	return own, toml.Unmarshal(text, own)
}

// validate has the CRI plugins check their settings. The runtime plugin does so first when it starts, and needs only a
// folder; the image plugin needs a database, so its one rule for files like ours is restated (ValidateImageConfig in
// internal/cri/config/config.go).
func validate(ctx context.Context, registration plugin.Registration, own any, folder string) error {
	switch registration.URI() {
	case runtimeURI:
		start := plugin.NewContext(ctx, plugin.NewPluginSet(), map[string]string{
			plugins.PropertyRootDir:  filepath.Join(folder, "root", "plugin"),
			plugins.PropertyStateDir: filepath.Join(folder, "state", "plugin"),
		})
		start.Config = own
		if _, err := registration.InitFn(start); err != nil {
			return err
		}
		return checkRuntimes(own)
	case imagesURI:
		return checkImages(own)
	default:
		return nil
	}
}
