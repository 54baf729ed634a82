package main

import (
	"fmt"
	"io"
	"log"
	"net"
	"net/netip"
	"net/url"
	"sync"

	"k8s.io/client-go/tools/clientcmd"
	cri "k8s.io/cri-api/pkg/apis/runtime/v1"
)

// apiService takes kube-proxy's place for the API server's Service, whose address the kubelet gives to every container.
// Connections go on, byte by byte, to the server that the kubelet itself speaks to, so who connects sees the API
// server's own certificate.
type apiService struct {
	kubeconfig string
	mu         sync.Mutex
	served     map[string]bool
}

// serve makes the address answer that a container's environment names; a host name in its place is left alone.
func (s *apiService) serve(config *cri.ContainerConfig) {
	if err := s.answer(config); err != nil {
		log.Printf("the API server's Service: %v", err)
	}
}

func (s *apiService) answer(config *cri.ContainerConfig) error {
	env := map[string]string{}
	for _, pair := range config.GetEnvs() {
		env[pair.GetKey()] = string(pair.GetValue())
	}
	address, err := netip.ParseAddr(env["KUBERNETES_SERVICE_HOST"])
	if err != nil {
		return nil
	}
	place := net.JoinHostPort(address.String(), env["KUBERNETES_SERVICE_PORT"])
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.served[place] {
		return nil
	}
	if err := ipBatch(nil, []string{fmt.Sprintf("address replace %s/32 dev lo", address)}); err != nil {
		return err
	}
	listener, err := net.Listen("tcp", place)
	if err != nil {
		return err
	}
	s.served[place] = true
	go func() {
		for {
			client, err := listener.Accept()
			if err != nil {
				return
			}
			go s.forward(client)
		}
	}()
	return nil
}

func (s *apiService) forward(client net.Conn) {
	defer client.Close()
	server, err := s.dial()
	if err != nil {
		log.Printf("the API server's Service: %v", err)
		return
	}
	defer server.Close()
	go func() {
		_, _ = io.Copy(server, client)
		server.Close()
	}()
	_, _ = io.Copy(client, server)
}

func (s *apiService) dial() (net.Conn, error) {
	config, err := clientcmd.BuildConfigFromFlags("", s.kubeconfig)
	if err != nil {
		return nil, err
	}
	server, err := url.Parse(config.Host)
	if err != nil {
		return nil, err
	}
	return net.Dial("tcp", server.Host)
}
