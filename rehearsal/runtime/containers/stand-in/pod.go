package main

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// What a stand-in does follows from its pod. The bundle does not tell it, so it is read from the API with the kubelet's
// credentials.

type way struct {
	Port   any
	Scheme string
}

type probe struct{ HTTPGet, TCPSocket, GRPC *way }

type container struct {
	Name          string
	Args          []string
	RestartPolicy string
	Ports         []struct {
		Name          string
		ContainerPort int
	}
	StartupProbe, ReadinessProbe, LivenessProbe *probe
}

type pod struct {
	Metadata struct {
		UID         string
		Annotations map[string]string
	}
	Spec struct {
		RestartPolicy, NodeName    string
		InitContainers, Containers []container
	}
}

// failsAnnotation tells a stand-in to fail, by its container's name: `end`, at once, or `unhealthy`, by its probes.
const failsAnnotation = "stand-in.fenestra.dev/"

// partOf is what a stand-in does, as its command line.
func partOf(namespace, name, uid, own string, args []string) ([]string, error) {
	var p pod
	if err := read("/api/v1/namespaces/"+namespace+"/pods/"+name, func() bool { return p.Metadata.UID != "" }, &p); err != nil {
		return nil, err
	}
	if p.Metadata.UID != uid {
		// A static pod, which the API knows by its mirror's.
		return []string{"run"}, nil
	}
	if filepath.Base(args[0]) == "flanneld" {
		if err := writeRange(p.Spec.NodeName); err != nil {
			return nil, err
		}
	}
	fails := p.Metadata.Annotations[failsAnnotation+own]
	if fails == "end" {
		return []string{"end:1:0"}, nil
	}
	is := func(one container) bool { return one.Name == own }
	if at := slices.IndexFunc(p.Spec.InitContainers, is); at >= 0 && p.Spec.InitContainers[at].RestartPolicy != "Always" {
		return []string{"end:0:0"}, nil
	}
	// A Job's, or a chart's hook or test. KWOK has the same rule (rehearsal/machines/kwok.ts).
	if p.Spec.RestartPolicy != "Always" {
		return []string{"end:0:1"}, nil
	}
	at := slices.IndexFunc(p.all(), is)
	if at < 0 {
		return []string{"run"}, nil
	}
	if fails != "unhealthy" {
		fails = "run"
	}
	return append([]string{fails}, p.portsOf(p.all()[at])...), nil
}

func (p *pod) all() []container { return slices.Concat(p.Spec.InitContainers, p.Spec.Containers) }

// portsOf are the ports at which a container answers. The liveness probe of a CSI driver asks its side-car, so the
// driver leaves that port alone.
func (p *pod) portsOf(own container) []string {
	if port := own.livenessPort(); port != "" {
		return []string{port}
	}
	var ports []string
	for _, each := range []*probe{own.StartupProbe, own.ReadinessProbe, own.LivenessProbe} {
		if port := own.portOf(each); port != "" && !slices.Contains(ports, port) {
			ports = append(ports, port)
		}
	}
	return slices.DeleteFunc(ports, func(port string) bool {
		return slices.ContainsFunc(p.Spec.Containers, func(other container) bool { return other.livenessPort() == port })
	})
}

// tlsMark is before a port that is asked by HTTPS.
const tlsMark = "tls:"

func (own *container) portOf(asked *probe) string {
	if asked == nil {
		return ""
	}
	for _, by := range []*way{asked.HTTPGet, asked.TCPSocket, asked.GRPC} {
		if by == nil {
			continue
		}
		port := fmt.Sprint(by.Port)
		for _, named := range own.Ports {
			if named.Name == by.Port {
				port = strconv.Itoa(named.ContainerPort)
			}
		}
		if by.Scheme == "HTTPS" {
			return tlsMark + port
		}
		return port
	}
	return ""
}

// livenessPort is where a CSI driver's side-car answers the driver's probe (kubernetes-csi/livenessprobe:
// cmd/livenessprobe); empty for others.
func (own *container) livenessPort() string {
	for _, argument := range own.Args {
		endpoint, ok := strings.CutPrefix(argument, "--http-endpoint=")
		if _, port, err := net.SplitHostPort(endpoint); ok && err == nil {
			return port
		}
	}
	return ""
}

// subnetFile is what flanneld leaves for its plug-in.
const subnetFile = "/run/flannel/subnet.env"

// writeRange does the part of flanneld that pods need: it tells the plug-in the node's range, once there is one.
func writeRange(nodeName string) error {
	var node struct{ Spec struct{ PodCIDR string } }
	if err := read("/api/v1/nodes/"+nodeName, func() bool { return node.Spec.PodCIDR != "" }, &node); err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(subnetFile), 0o755); err != nil {
		return err
	}
	return os.WriteFile(subnetFile, []byte("FLANNEL_SUBNET="+node.Spec.PodCIDR+"\n"), 0o644)
}

// read reads an object once it has what is wanted, and gives up before the kubelet does (its runtimeRequestTimeout).
func read(path string, has func() bool, into any) error {
	for end := time.Now().Add(90 * time.Second); ; time.Sleep(time.Second) {
		err := readOnce(path, into)
		if err == nil && has() {
			return nil
		}
		if time.Now().After(end) {
			return fmt.Errorf("%s does not have what its stand-in needs: %v", path, err)
		}
	}
}

func readOnce(path string, into any) error {
	text, err := os.ReadFile("/etc/kubernetes/kubelet.conf")
	if err != nil {
		return err
	}
	field := func(name string) string {
		if found := regexp.MustCompile(name + `: *"?([^"\s]+)`).FindSubmatch(text); found != nil {
			return string(found[1])
		}
		return ""
	}
	authority, err := base64.StdEncoding.DecodeString(field("certificate-authority-data"))
	if file := field("certificate-authority"); file != "" {
		authority, err = os.ReadFile(file)
	}
	if err != nil {
		return err
	}
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(authority)
	certificate, err := tls.LoadX509KeyPair(field("client-certificate"), field("client-key"))
	if err != nil {
		return err
	}
	// Without the environment's proxy, which is containerd's, for images.
	transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool, Certificates: []tls.Certificate{certificate}}}
	client := http.Client{Timeout: 5 * time.Second, Transport: transport}
	answer, err := client.Get(field("server") + path + "?resourceVersion=0")
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		return fmt.Errorf("%s", answer.Status)
	}
	return json.NewDecoder(answer.Body).Decode(into)
}
