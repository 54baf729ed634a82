package main

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"io"
	"math/big"
	"net"
	"net/http"
	"strings"
	"time"

	"github.com/soheilhy/cmux"
	"google.golang.org/grpc"
	"google.golang.org/grpc/health"
	"google.golang.org/grpc/health/grpc_health_v1"
)

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
	// The kubelet does not look at it (kubernetes: pkg/probe/http, InsecureSkipVerify).
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
