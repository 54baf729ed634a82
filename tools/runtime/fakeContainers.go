package main

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"log"
	"math/big"
	"net"
	"net/http"
	"net/url"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/soheilhy/cmux"
	"google.golang.org/grpc"
	"google.golang.org/grpc/health"
	"google.golang.org/grpc/health/grpc_health_v1"
	core "k8s.io/api/core/v1"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	corev1 "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/kubernetes/pkg/probe"
)

// A fake is a container without a program: it runs until it is stopped, answers its pod's probes as a healthy program
// would, and ends where one would: as init container, and in a pod that is not started again. The CRI tells none of
// that, so the pod is read from the API with the kubelet's credentials.

// Kubernetes' labels of a container (kubernetes: pkg/kubelet/types/labels.go).
const (
	labelPodName       = "io.kubernetes.pod.name"
	labelPodNamespace  = "io.kubernetes.pod.namespace"
	labelPodUID        = "io.kubernetes.pod.uid"
	labelContainerName = "io.kubernetes.container.name"
)

// jobSeconds is how long such a pod's container runs.
const jobSeconds = 1

type fakeContainers struct {
	kubeconfig string
	probes     *probeAnswers
	mu         sync.Mutex
	running    map[string]context.CancelFunc
}

func newFakeContainers(kubeconfig string) (*fakeContainers, error) {
	probes, err := newProbeAnswers()
	return &fakeContainers{kubeconfig: kubeconfig, probes: probes, running: map[string]context.CancelFunc{}}, err
}

// start begins a fake; `ended` is called when it ends by itself.
func (s *fakeContainers) start(c *container, pod *sandbox, ended func(code int32)) {
	ctx, cancel := context.WithCancel(context.Background())
	s.mu.Lock()
	s.running[c.ID] = cancel
	s.mu.Unlock()
	go func() {
		spec, err := s.podOf(ctx, c)
		if err != nil {
			log.Printf("fake %s: %v", c.Config.GetMetadata().GetName(), err)
			return
		}
		if spec == nil {
			return
		}
		own, ends := partOf(spec, c.Config.GetLabels()[labelContainerName])
		if own == nil {
			return
		}
		if ends {
			if comesToAnEnd(spec) {
				select {
				case <-ctx.Done():
					return
				case <-time.After(jobSeconds * time.Second):
				}
			}
			ended(0)
			return
		}
		for _, port := range portsOf(spec, own) {
			if err := inNetNS(pod.NetNS, func() error { return s.probes.listen(ctx, port) }); err != nil {
				log.Printf("fake %s: port %d: %v", c.Config.GetMetadata().GetName(), port, err)
				ended(1)
				return
			}
		}
	}()
}

func (s *fakeContainers) stop(c *container) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if cancel, ok := s.running[c.ID]; ok {
		cancel()
		delete(s.running, c.ID)
	}
}

// podOf reads a container's pod; nil for one unknown to the API, such as a static pod's.
func (s *fakeContainers) podOf(ctx context.Context, c *container) (*core.Pod, error) {
	labels := c.Config.GetLabels()
	for {
		pod, err := s.read(ctx, labels[labelPodNamespace], labels[labelPodName])
		if err == nil {
			if string(pod.UID) != labels[labelPodUID] {
				return nil, nil
			}
			return pod, nil
		}
		select {
		case <-ctx.Done():
			return nil, err
		case <-time.After(time.Second):
		}
	}
}

func (s *fakeContainers) read(ctx context.Context, namespace, name string) (*core.Pod, error) {
	config, err := clientcmd.BuildConfigFromFlags("", s.kubeconfig)
	if err != nil {
		return nil, err
	}
	config.Timeout = 5 * time.Second
	// The environment's proxy is containerd's, for images; a kubelet has none either.
	config.Proxy = func(*http.Request) (*url.URL, error) { return nil, nil }
	client, err := corev1.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	return client.Pods(namespace).Get(ctx, name, meta.GetOptions{ResourceVersion: "0"})
}

// partOf finds a container in its pod, and tells whether its program would end.
func partOf(pod *core.Pod, name string) (own *core.Container, ends bool) {
	for index := range pod.Spec.InitContainers {
		if one := &pod.Spec.InitContainers[index]; one.Name == name {
			return one, one.RestartPolicy == nil || *one.RestartPolicy != core.ContainerRestartPolicyAlways
		}
	}
	for index := range pod.Spec.Containers {
		if one := &pod.Spec.Containers[index]; one.Name == name {
			return one, comesToAnEnd(pod)
		}
	}
	return nil, false
}

// comesToAnEnd tells of a pod that is not started again: a Job's, or a chart's hook or test. KWOK has the same rule
// (rehearsal/machines/kwok.ts).
func comesToAnEnd(pod *core.Pod) bool { return pod.Spec.RestartPolicy != core.RestartPolicyAlways }

// probePorts are the ports at which the kubelet asks a container.
func probePorts(own *core.Container) []int32 {
	ports := []int32{}
	for _, each := range []*core.Probe{own.StartupProbe, own.ReadinessProbe, own.LivenessProbe} {
		if each == nil {
			continue
		}
		port := intstr.IntOrString{}
		switch {
		case each.HTTPGet != nil:
			port = each.HTTPGet.Port
		case each.TCPSocket != nil:
			port = each.TCPSocket.Port
		case each.GRPC != nil:
			port = intstr.FromInt32(each.GRPC.Port)
		}
		if number, err := probe.ResolveContainerPort(port, own); err == nil && !slices.Contains(ports, int32(number)) {
			ports = append(ports, int32(number))
		}
	}
	return ports
}

// portsOf are the ports at which a container answers. The liveness probe of a CSI driver asks its side-car, so the
// driver leaves that port alone.
func portsOf(pod *core.Pod, own *core.Container) []int32 {
	if port := livenessPort(own); port != 0 {
		return []int32{port}
	}
	ports := probePorts(own)
	for index := range pod.Spec.Containers {
		theirs := livenessPort(&pod.Spec.Containers[index])
		ports = slices.DeleteFunc(ports, func(port int32) bool { return port == theirs })
	}
	return ports
}

// livenessPort is where a CSI driver's side-car answers the driver's probe (kubernetes-csi/livenessprobe:
// cmd/livenessprobe); 0 for others.
func livenessPort(own *core.Container) int32 {
	for _, argument := range own.Args {
		endpoint, ok := strings.CutPrefix(argument, "--http-endpoint=")
		if _, text, err := net.SplitHostPort(endpoint); ok && err == nil {
			port, _ := strconv.ParseInt(text, 10, 32)
			return int32(port)
		}
	}
	return 0
}

// address is where a program listens that names none.
func address(port int32) string { return fmt.Sprintf(":%d", port) }

// explainFake writes the only line of a fake's log: the kubelet wants the file.
func (s *runtimeService) explainFake(c *container, pod *sandbox) error {
	log := &logFile{path: filepath.Join(pod.Config.GetLogDirectory(), c.Config.GetLogPath())}
	if err := log.open(); err != nil {
		return err
	}
	log.copy("stdout", strings.NewReader("no program of this container runs in the rehearsal\n"))
	return log.file.Close()
}

// probeAnswers answers HTTP, HTTPS, TCP and gRPC probes on one port as a healthy program does.
type probeAnswers struct {
	certificate tls.Certificate
	server      *http.Server
}

func newProbeAnswers() (*probeAnswers, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	// The kubelet does not verify it (kubernetes: pkg/probe/http, InsecureSkipVerify).
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(24 * time.Hour)}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		return nil, err
	}
	checks := grpc.NewServer()
	grpc_health_v1.RegisterHealthServer(checks, health.NewServer())
	handler := func(response http.ResponseWriter, request *http.Request) {
		if strings.HasPrefix(request.Header.Get("Content-Type"), "application/grpc") {
			checks.ServeHTTP(response, request)
			return
		}
		_, _ = io.WriteString(response, "ok")
	}
	protocols := &http.Protocols{}
	protocols.SetHTTP1(true)
	protocols.SetUnencryptedHTTP2(true)
	return &probeAnswers{
		certificate: tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key},
		server:      &http.Server{Handler: http.HandlerFunc(handler), Protocols: protocols, ReadHeaderTimeout: 10 * time.Second},
	}, nil
}

// listen answers on a port of the calling thread's network, with and without TLS, until the context ends.
func (p *probeAnswers) listen(ctx context.Context, port int32) error {
	listener, err := net.Listen("tcp", address(port))
	if err != nil {
		return err
	}
	both := cmux.New(listener)
	both.SetReadTimeout(10 * time.Second)
	encrypted := tls.NewListener(both.Match(cmux.TLS()), &tls.Config{Certificates: []tls.Certificate{p.certificate}})
	for _, one := range []net.Listener{encrypted, both.Match(cmux.Any())} {
		go func() { _ = p.server.Serve(one) }()
	}
	go func() { _ = both.Serve() }()
	go func() {
		<-ctx.Done()
		_ = listener.Close()
	}()
	return nil
}
