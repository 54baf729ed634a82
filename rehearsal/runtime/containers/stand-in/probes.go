package main

import (
	"bufio"
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
)

// answer answers probes by HTTP, HTTPS, TCP and gRPC on each port, as a healthy program does, or an unhealthy one.
func answer(ports []string, unhealthy bool) error {
	if len(ports) == 0 {
		return nil
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return err
	}
	// The kubelet does not verify it (kubernetes: pkg/probe/http, InsecureSkipVerify).
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(24 * time.Hour)}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		return err
	}
	config := &tls.Config{Certificates: []tls.Certificate{{Certificate: [][]byte{der}, PrivateKey: key}}}
	protocols := &http.Protocols{}
	protocols.SetHTTP1(true)
	protocols.SetUnencryptedHTTP2(true)
	server := &http.Server{Handler: handler(unhealthy), Protocols: protocols, ReadHeaderTimeout: 10 * time.Second}
	for _, port := range ports {
		listener, err := net.Listen("tcp", ":"+port)
		if err != nil {
			return err
		}
		go func() { _ = server.Serve(both{listener, config}) }()
	}
	return nil
}

// handler answers a probe. That of gRPC is a message of one field, the status (grpc/grpc-proto: grpc/health/v1).
func handler(unhealthy bool) http.HandlerFunc {
	return func(response http.ResponseWriter, request *http.Request) {
		status, code := byte(1), http.StatusOK
		if unhealthy {
			status, code = 2, http.StatusServiceUnavailable
		}
		if strings.HasPrefix(request.Header.Get("Content-Type"), "application/grpc") {
			response.Header().Set("Content-Type", "application/grpc")
			response.Header().Set(http.TrailerPrefix+"Grpc-Status", "0")
			_, _ = response.Write([]byte{0, 0, 0, 0, 2, 8, status})
			return
		}
		response.WriteHeader(code)
		_, _ = io.WriteString(response, http.StatusText(code))
	}
}

// both takes connections with and without TLS, by their first byte, that of a handshake.
type both struct {
	net.Listener
	config *tls.Config
}

func (b both) Accept() (net.Conn, error) {
	raw, err := b.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return &either{Conn: raw, config: b.config}, nil
}

type either struct {
	net.Conn
	config *tls.Config
	inner  net.Conn
}

func (e *either) Read(into []byte) (int, error) {
	if e.inner == nil {
		buffered := peeked{e.Conn, bufio.NewReader(e.Conn)}
		first, err := buffered.reader.Peek(1)
		if err != nil {
			return 0, err
		}
		e.inner = buffered
		if first[0] == 22 {
			e.inner = tls.Server(buffered, e.config)
		}
	}
	return e.inner.Read(into)
}

func (e *either) Write(from []byte) (int, error) {
	if e.inner == nil {
		return e.Conn.Write(from)
	}
	return e.inner.Write(from)
}

type peeked struct {
	net.Conn
	reader *bufio.Reader
}

func (p peeked) Read(into []byte) (int, error) { return p.reader.Read(into) }
