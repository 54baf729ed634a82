package main

import (
	"bufio"
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

// listen answers on a port of the calling thread's network until the context ends.
func (p *probeAnswers) listen(ctx context.Context, port int32) error {
	listener, err := net.Listen("tcp", address(port))
	if err != nil {
		return err
	}
	sniffing := &sniffingListener{Listener: listener, config: &tls.Config{Certificates: []tls.Certificate{p.certificate}}, found: make(chan net.Conn)}
	go sniffing.accept(ctx)
	go func() { _ = p.server.Serve(sniffing) }()
	go func() {
		<-ctx.Done()
		_ = listener.Close()
	}()
	return nil
}

// sniffingListener takes connections with and without TLS.
type sniffingListener struct {
	net.Listener
	config *tls.Config
	found  chan net.Conn
	ctx    context.Context
}

func (l *sniffingListener) accept(ctx context.Context) {
	defer close(l.found)
	for {
		conn, err := l.Listener.Accept()
		if err != nil {
			return
		}
		go l.sniff(ctx, conn)
	}
}

func (l *sniffingListener) sniff(ctx context.Context, conn net.Conn) {
	reader := bufio.NewReader(conn)
	_ = conn.SetReadDeadline(time.Now().Add(10 * time.Second))
	first, err := reader.Peek(1)
	_ = conn.SetReadDeadline(time.Time{})
	if err != nil {
		// A TCP probe says nothing.
		_ = conn.Close()
		return
	}
	var known net.Conn = &peeked{conn, reader}
	// The first byte of a TLS handshake (RFC 8446, 5.1).
	if first[0] == 0x16 {
		known = tls.Server(known, l.config)
	}
	select {
	case l.found <- known:
	case <-ctx.Done():
		_ = conn.Close()
	}
}

func (l *sniffingListener) Accept() (net.Conn, error) {
	conn, ok := <-l.found
	if !ok {
		return nil, net.ErrClosed
	}
	return conn, nil
}

type peeked struct {
	net.Conn
	reader *bufio.Reader
}

func (p *peeked) Read(into []byte) (int, error) { return p.reader.Read(into) }
