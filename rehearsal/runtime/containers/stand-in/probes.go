package main

import (
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"time"
)

// answer answers probes by HTTP, TCP and gRPC on each port, by HTTPS on those that are marked so, as a healthy program
// does, or an unhealthy one.
func answer(ports []string, unhealthy bool) error {
	protocols := &http.Protocols{}
	protocols.SetHTTP1(true)
	protocols.SetUnencryptedHTTP2(true)
	for _, port := range ports {
		number, secure := strings.CutPrefix(port, tlsMark)
		listener, err := net.Listen("tcp", ":"+number)
		if err != nil {
			return err
		}
		config := &http.Server{Handler: handler(unhealthy), Protocols: protocols, ReadHeaderTimeout: 10 * time.Second}
		server := &httptest.Server{Listener: listener, Config: config}
		if secure {
			// The kubelet does not verify its certificate (kubernetes: pkg/probe/http, InsecureSkipVerify).
			server.StartTLS()
		} else {
			server.Start()
		}
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
