// Command texts reads small texts with the code of the programs that they are for. Unlike these, it takes an unknown
// key for a problem.
//
// Standard input is a JSON list of texts, standard output the list of what each was read as.
package main

import (
	"bytes"
	"context"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/containerd/containerd/v2/core/remotes/docker"
	hosts "github.com/containerd/containerd/v2/core/remotes/docker/config"
	"github.com/containernetworking/cni/libcni"
	"github.com/flannel-io/flannel/pkg/subnet"
	npd "k8s.io/node-problem-detector/pkg/custompluginmonitor/types"
	azure "sigs.k8s.io/cloud-provider-azure/pkg/provider/config"
	"sigs.k8s.io/yaml"
)

type request struct {
	// Kind is a key of readers.
	Kind string `json:"kind"`
	Text string `json:"text"`
	// Registry is the one that a hosts.toml is for.
	Registry string `json:"registry"`
}

type answer struct {
	Problem string `json:"problem,omitempty"`
	// Read is what the program understood, as far as a test wants to know.
	Read []string `json:"read,omitempty"`
}

var readers = map[string]func(request) ([]string, error){
	"azure.json":            azureConfig,
	"certificate-request":   certificateRequest,
	"cni":                   cniList,
	"hosts.toml":            registryHosts,
	"net-conf.json":         flannelConfig,
	"node-problem-detector": pluginMonitor,
}

func main() {
	var requests []request
	if err := json.NewDecoder(os.Stdin).Decode(&requests); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	answers := make([]answer, len(requests))
	for i, one := range requests {
		reader, ok := readers[one.Kind]
		if !ok {
			fmt.Fprintf(os.Stderr, "no reader of %q\n", one.Kind)
			os.Exit(1)
		}
		read, err := reader(one)
		answers[i].Read = read
		if err != nil {
			answers[i].Problem = err.Error()
		}
	}
	if err := json.NewEncoder(os.Stdout).Encode(answers); err != nil {
		panic(err)
	}
}

func strictJSON(text string, into any) error {
	decoder := json.NewDecoder(strings.NewReader(text))
	decoder.DisallowUnknownFields()
	return decoder.Decode(into)
}

// azureConfig is ParseConfig of pkg/provider/config/env.go, made strict.
func azureConfig(one request) ([]string, error) {
	var config azure.Config
	err := yaml.UnmarshalStrict([]byte(one.Text), &config)
	return []string{fmt.Sprint(config.NodeInstanceNotFoundGracePeriodInSeconds)}, err
}

// certificateRequest is ParseCSR of client-go (util/certificate/csr), and what the API server and its signer take of
// it.
func certificateRequest(one request) ([]string, error) {
	block, _ := pem.Decode([]byte(one.Text))
	if block == nil || block.Type != "CERTIFICATE REQUEST" {
		return nil, errors.New("no request in PEM")
	}
	found, err := x509.ParseCertificateRequest(block.Bytes)
	if err != nil {
		return nil, err
	}
	var read []string
	for _, name := range found.Subject.Names {
		read = append(read, fmt.Sprintf("%s=%v", name.Type, name.Value))
	}
	for _, name := range found.DNSNames {
		read = append(read, "DNS="+name)
	}
	for _, address := range found.IPAddresses {
		read = append(read, "IP="+address.String())
	}
	for _, name := range found.EmailAddresses {
		read = append(read, "mail="+name)
	}
	for _, name := range found.URIs {
		read = append(read, "URI="+name.String())
	}
	slices.Sort(read)
	return read, nil
}

func cniList(one request) ([]string, error) {
	list, err := libcni.NetworkConfFromBytes([]byte(one.Text))
	if err != nil {
		return nil, err
	}
	read := []string{list.Name, list.CNIVersion}
	for _, plugin := range list.Plugins {
		read = append(read, plugin.Network.Type)
	}
	return read, nil
}

// registryHosts returns whom containerd's image service would ask in turn and for what.
func registryHosts(one request) ([]string, error) {
	folder, err := os.MkdirTemp("", "readers-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(folder)
	if err := os.WriteFile(filepath.Join(folder, "hosts.toml"), []byte(one.Text), 0o600); err != nil {
		return nil, err
	}
	find := hosts.ConfigureHosts(context.Background(), hosts.HostOptions{HostDir: func(string) (string, error) { return folder, nil }})
	list, err := find(one.Registry)
	if err != nil {
		return nil, err
	}
	var read []string
	for _, host := range list {
		var may []string
		for name, capability := range map[string]docker.HostCapabilities{
			"pull": docker.HostCapabilityPull, "resolve": docker.HostCapabilityResolve, "push": docker.HostCapabilityPush,
		} {
			if host.Capabilities.Has(capability) {
				may = append(may, name)
			}
		}
		slices.Sort(may)
		text := fmt.Sprintf("%s://%s%s %s", host.Scheme, host.Host, host.Path, strings.Join(may, ","))
		if login := host.Header.Get("Authorization"); login != "" {
			text += " " + login
		}
		read = append(read, text)
	}
	return read, nil
}

func flannelConfig(one request) ([]string, error) {
	if err := strictJSON(one.Text, &subnet.Config{}); err != nil {
		return nil, err
	}
	config, err := subnet.ParseConfig(one.Text)
	if err != nil {
		return nil, err
	}
	var backend bytes.Buffer
	if err := json.Compact(&backend, config.Backend); err != nil {
		return nil, err
	}
	return []string{config.Network.String(), config.BackendType, backend.String()}, nil
}

// pluginMonitor does what the monitor does before it starts. This program stands for those that rules name.
func pluginMonitor(one request) ([]string, error) {
	var config npd.CustomPluginConfig
	if err := strictJSON(one.Text, &config); err != nil {
		return nil, err
	}
	if err := config.ApplyConfiguration(); err != nil {
		return nil, err
	}
	for _, rule := range config.Rules {
		rule.Path = os.Args[0]
	}
	return nil, config.Validate()
}
