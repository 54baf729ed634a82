package main

import (
	"os"

	cri "k8s.io/cri-api/pkg/apis/runtime/v1"
)

// imagePath is PATH where an image sets none, as in runc's default and in the images of Kubernetes.
const imagePath = "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

// commandOf is the command line by the rules of Kubernetes: a command replaces the image's entrypoint and its arguments.
func commandOf(config *cri.ContainerConfig, image *imageConfig) []string {
	entrypoint, arguments := config.GetCommand(), config.GetArgs()
	if image != nil && len(entrypoint) == 0 {
		entrypoint = image.Entrypoint
		if len(arguments) == 0 {
			arguments = image.Command
		}
	}
	return append(append([]string{}, entrypoint...), arguments...)
}

func environmentOf(config *cri.ContainerConfig, image *imageConfig, pod *sandbox) []string {
	env := []string{imagePath, "HOSTNAME=" + hostnameOf(pod)}
	if image != nil {
		env = append(env, image.Env...)
	}
	for _, pair := range config.GetEnvs() {
		env = append(env, pair.GetKey()+"="+string(pair.GetValue()))
	}
	return env
}

// hostnameOf is a pod's host name. Its processes see the machine's: by the namespace of host names the rehearsal knows what belongs to a machine.
func hostnameOf(pod *sandbox) string {
	if name := pod.Config.GetHostname(); name != "" {
		return name
	}
	name, _ := os.Hostname()
	return name
}
