package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	kubeletconfig "k8s.io/kubernetes/pkg/kubelet/apis/config"

	"k8s.io/kubernetes/pkg/credentialprovider/plugin"
)

// providerProblems has the kubelet's own code take a configuration of credential providers, with a program for each.
func providerProblems(text string, config *kubeletconfig.CredentialProviderConfig) (problems []string) {
	folder, err := os.MkdirTemp("", "check-kubelet-")
	if err != nil {
		return []string{err.Error()}
	}
	defer os.RemoveAll(folder)
	path := filepath.Join(folder, "config.yaml")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		return []string{err.Error()}
	}
	programs := filepath.Join(folder, "bin")
	if err := os.Mkdir(programs, 0o700); err != nil {
		return []string{err.Error()}
	}
	for _, provider := range config.Providers {
		name := filepath.Join(programs, filepath.Base(provider.Name))
		if err := os.WriteFile(name, []byte("#!/bin/sh\n"), 0o700); err != nil {
			return []string{err.Error()}
		}
	}
	// After every rule it remembers the name for good: the next file of the same provider ends in a panic.
	defer func() {
		if reason := recover(); reason != nil && !strings.Contains(fmt.Sprint(reason), "was registered twice") {
			panic(reason)
		}
	}()
	if err := plugin.RegisterCredentialProviderPlugins(path, programs, nil, nil); err != nil {
		return []string{strings.ReplaceAll(err.Error(), folder+"/", "")}
	}
	return nil
}
