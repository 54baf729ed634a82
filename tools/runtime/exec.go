package main

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"os/exec"
	"strconv"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"k8s.io/cri-streaming/pkg/streaming"
	"k8s.io/cri-streaming/pkg/streaming/remotecommand"
	utilexec "k8s.io/utils/exec"

	cri "k8s.io/cri-api/pkg/apis/runtime/v1"
)

// command is a command in the namespaces of a container's first process; nil for a fake.
func (s *runtimeService) command(ctx context.Context, id string, argv []string) (*exec.Cmd, error) {
	c, err := s.store.container(id)
	if err != nil {
		return nil, err
	}
	if s.stateOf(c) != cri.ContainerState_CONTAINER_RUNNING {
		return nil, status.Errorf(codes.Unknown, "container %q is not running", id)
	}
	if c.Fake {
		return nil, nil
	}
	entering := []string{"--mount", "--net", "--root", "--wd", "--target", strconv.Itoa(c.PID), "--"}
	command := exec.CommandContext(ctx, "nsenter", append(entering, argv...)...)
	command.Env = c.Env
	return command, nil
}

// ExecSync runs a command, such as a probe's. In a fake, which has no programs, it succeeds.
func (s *runtimeService) ExecSync(ctx context.Context, request *cri.ExecSyncRequest) (*cri.ExecSyncResponse, error) {
	if limit := request.GetTimeout(); limit > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, time.Duration(limit)*time.Second)
		defer cancel()
	}
	command, err := s.command(ctx, request.GetContainerId(), request.GetCmd())
	if err != nil || command == nil {
		return &cri.ExecSyncResponse{}, err
	}
	var stdout, stderr bytes.Buffer
	command.Stdout, command.Stderr = &stdout, &stderr
	err = command.Run()
	if ctx.Err() != nil {
		return nil, status.Errorf(codes.DeadlineExceeded, "failed to exec in container: timeout %ds exceeded", request.GetTimeout())
	}
	var ended *exec.ExitError
	if err != nil && !errors.As(err, &ended) {
		return nil, err
	}
	return &cri.ExecSyncResponse{Stdout: stdout.Bytes(), Stderr: stderr.Bytes(), ExitCode: int32(command.ProcessState.ExitCode())}, nil
}

func (s *runtimeService) startStreaming() error {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	config := streaming.DefaultConfig
	config.Addr = listener.Addr().String()
	if s.streaming, err = streaming.NewServer(config, &streams{s}); err != nil {
		return err
	}
	go func() { _ = http.Serve(listener, s.streaming) }()
	return nil
}

func (s *runtimeService) Exec(_ context.Context, request *cri.ExecRequest) (*cri.ExecResponse, error) {
	if _, err := s.command(context.Background(), request.GetContainerId(), request.GetCmd()); err != nil {
		return nil, err
	}
	return s.streaming.GetExec(request)
}

// streams carries out `kubectl exec`, without a terminal.
type streams struct{ service *runtimeService }

func (s *streams) Exec(ctx context.Context, id string, argv []string, in io.Reader, out, err io.WriteCloser, _ bool, _ <-chan remotecommand.TerminalSize) error {
	command, problem := s.service.command(ctx, id, argv)
	if problem != nil {
		return problem
	}
	if command == nil {
		return errors.New("no program of this container runs in the rehearsal")
	}
	command.Stdin, command.Stdout, command.Stderr = in, out, err
	problem = command.Run()
	var ended *exec.ExitError
	if errors.As(problem, &ended) {
		return &utilexec.CodeExitError{Err: problem, Code: ended.ExitCode()}
	}
	return problem
}

func (s *streams) Attach(context.Context, string, io.Reader, io.WriteCloser, io.WriteCloser, bool, <-chan remotecommand.TerminalSize) error {
	return errors.New("attach is not offered in the rehearsal")
}

func (s *streams) PortForward(context.Context, string, int32, io.ReadWriteCloser) error {
	return errors.New("port-forward is not offered in the rehearsal")
}
