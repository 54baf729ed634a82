// Command check-kubelet reads KubeletConfigurations and CredentialProviderConfigs as a kubelet of the Kubernetes
// version that it was built with does: decoding, defaults, validation. Unlike a kubelet, which warns, it takes unknown
// and repeated fields for problems.
package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"log"
	"os"
	"strings"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	utilerrors "k8s.io/apimachinery/pkg/util/errors"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	logsapi "k8s.io/component-base/logs/api/v1"
	// The kubelet knows the log format json by this import.
	_ "k8s.io/component-base/logs/json/register"
	kubeletconfig "k8s.io/kubernetes/pkg/kubelet/apis/config"
	"k8s.io/kubernetes/pkg/kubelet/apis/config/scheme"
	"k8s.io/kubernetes/pkg/kubelet/apis/config/validation"
)

// request is one file to check, of a machine with linux or windows.
type request struct{ ID, OS, Text string }

// answer has an empty list when the file is fine.
type answer struct {
	ID       string   `json:"id"`
	Problems []string `json:"problems"`
}

// main answers a JSON list of requests on standard input.
func main() {
	// As cmd/kubelet/app/server.go does; k8s.io/kubernetes/pkg/features registers the other feature gates.
	if err := logsapi.AddFeatureGates(utilfeature.DefaultMutableFeatureGate); err != nil {
		panic(err)
	}
	_, codecs, err := scheme.NewSchemeAndCodecs(serializer.EnableStrict)
	if err != nil {
		panic(err)
	}
	var requests []request
	if err := json.NewDecoder(os.Stdin).Decode(&requests); err != nil {
		log.Fatal(err)
	}
	answers := []answer{}
	for _, one := range requests {
		answers = append(answers, answer{one.ID, append([]string{}, check(codecs, one)...)})
	}
	if err := json.NewEncoder(os.Stdout).Encode(answers); err != nil {
		log.Fatal(err)
	}
}

func check(codecs *serializer.CodecFactory, request request) []string {
	object, kind, err := decode(codecs, request.Text)
	if strict, ok := runtime.AsStrictDecodingError(err); ok {
		return messages(strict.Errors())
	}
	if err != nil {
		return []string{err.Error()}
	}
	if providers, ok := object.(*kubeletconfig.CredentialProviderConfig); ok {
		return providerProblems(request.Text, providers)
	}
	config, ok := object.(*kubeletconfig.KubeletConfiguration)
	if !ok {
		return []string{fmt.Sprintf("it is a %s in place of a KubeletConfiguration", kind)}
	}
	var problems []string
	if request.OS == "windows" {
		problems = windowsProblems(config)
		// What is left for the rules of the system that this program was built for.
		config.SingleProcessOOMKill, config.UserNamespaces = nil, nil
	}
	// The rule compares the file with the host of the program, which is not the machine (validation_linux.go).
	config.FailCgroupV1 = false
	return append(problems, messages(unpack(validation.ValidateKubeletConfiguration(config, utilfeature.DefaultFeatureGate)))...)
}

// decode returns a kubelet's panic as an error: defaulting has one for an unknown feature gate
// (pkg/kubelet/apis/config/v1beta1/defaults.go).
func decode(codecs *serializer.CodecFactory, text string) (object runtime.Object, kind *schema.GroupVersionKind, err error) {
	defer func() {
		if reason := recover(); reason != nil {
			err = fmt.Errorf("the kubelet would panic: %v", reason)
		}
	}()
	return codecs.UniversalDecoder().Decode([]byte(text), nil, nil)
}

func unpack(err error) []error {
	var many utilerrors.Aggregate
	if errors.As(err, &many) {
		return utilerrors.Flatten(many).Errors()
	}
	if err == nil {
		return nil
	}
	return []error{err}
}

func messages(list []error) []string {
	var texts []string
	for _, err := range list {
		texts = append(texts, strings.TrimPrefix(err.Error(), "invalid configuration: "))
	}
	return texts
}
