package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
	cri "k8s.io/cri-api/pkg/apis/runtime/v1"
)

// A container with a program has a supervisor of its own, as containerd's has its shim: it outlives the runtime, its
// output reaches the log and its exit code a file.

// bundle is what a container's supervisor and first process need to know.
type bundle struct {
	Folder  string
	LogFile string
	NetNS   string
	Argv    []string
	Env     []string
	Config  *cri.ContainerConfig
	Image   *imageConfig
	// DNS becomes /etc/resolv.conf.
	DNS *cri.DNSConfig
}

func (s *runtimeService) bundleOf(c *container, pod *sandbox) *bundle {
	b := &bundle{
		Folder: s.store.path("containers", c.ID),
		NetNS:  pod.NetNS,
		Argv:   c.Argv,
		Env:    c.Env,
		Config: c.Config,
		Image:  s.images.config(c.Config.GetImage().GetImage()),
		DNS:    pod.Config.GetDnsConfig(),
	}
	if c.Config.GetLogPath() != "" {
		b.LogFile = filepath.Join(pod.Config.GetLogDirectory(), c.Config.GetLogPath())
	}
	return b
}

// started is the only line on a supervisor's standard output.
type started struct {
	PID   int
	Error string
}

type exited struct {
	Code     int32
	Finished int64
}

// startShim starts a container's supervisor and waits until its program runs.
func startShim(b *bundle) (shim, pid int, wait func(), err error) {
	text, err := json.Marshal(b)
	if err != nil {
		return 0, 0, nil, err
	}
	file := filepath.Join(b.Folder, "bundle.json")
	if err := replaceFile(file, text); err != nil {
		return 0, 0, nil, err
	}
	command := exec.Command("/proc/self/exe", "shim", file)
	command.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	command.Stderr = os.Stderr
	out, err := command.StdoutPipe()
	if err != nil {
		return 0, 0, nil, err
	}
	if err := command.Start(); err != nil {
		return 0, 0, nil, err
	}
	var answer started
	if err := json.NewDecoder(out).Decode(&answer); err != nil {
		answer.Error = fmt.Sprintf("the supervisor ended: %v", err)
	}
	if answer.Error != "" {
		_ = command.Wait()
		return 0, 0, nil, errors.New(answer.Error)
	}
	return command.Process.Pid, answer.PID, func() { _ = command.Wait() }, nil
}

// waitForShim waits for a supervisor of an earlier run of the runtime.
func waitForShim(pid int) {
	for unix.Kill(pid, 0) == nil {
		time.Sleep(200 * time.Millisecond)
	}
}

// readExit gives what the supervisor wrote at the end; 255 when it was killed, as containerd's for a lost shim.
func readExit(folder string) (int32, int64) {
	var end exited
	text, err := os.ReadFile(filepath.Join(folder, "exit.json"))
	if err != nil || json.Unmarshal(text, &end) != nil {
		return 255, time.Now().UnixNano()
	}
	return end.Code, end.Finished
}

func signalGroup(pid int, asked cri.Signal) {
	if number := unix.SignalNum(asked.String()); number != 0 && pid > 0 {
		_ = unix.Kill(pid, number)
	}
}

func killGroup(pid int) {
	if pid > 0 {
		_ = unix.Kill(-pid, unix.SIGKILL)
	}
}

func reopenLog(shim int) error {
	if shim <= 0 {
		return nil
	}
	return unix.Kill(shim, unix.SIGUSR1)
}

// shimMain is the supervisor.
func shimMain(file string) int {
	answer := json.NewEncoder(os.Stdout)
	b, command, output, err := startInit(file)
	if err != nil {
		_ = answer.Encode(started{Error: err.Error()})
		return 1
	}
	signal.Ignore(unix.SIGTERM, unix.SIGINT, unix.SIGHUP)
	sink := &logFile{path: b.LogFile}
	if err := sink.open(); err != nil {
		killGroup(command.Process.Pid)
		_ = answer.Encode(started{Error: err.Error()})
		return 1
	}
	reopen := make(chan os.Signal, 1)
	signal.Notify(reopen, unix.SIGUSR1)
	go func() {
		for range reopen {
			_ = sink.open()
		}
	}()
	_ = answer.Encode(started{PID: command.Process.Pid})
	os.Stdout.Close()
	copied := make(chan struct{}, 2)
	for stream, pipe := range output {
		go func() {
			sink.copy(stream, pipe)
			copied <- struct{}{}
		}()
	}
	_ = command.Wait()
	finished := time.Now().UnixNano()
	// What is left of the container goes with its first process, as in a namespace of processes.
	killGroup(command.Process.Pid)
	for limit := time.After(time.Second); len(copied) < 2; {
		select {
		case <-limit:
			return end(b, command, finished)
		case <-time.After(10 * time.Millisecond):
		}
	}
	return end(b, command, finished)
}

func end(b *bundle, command *exec.Cmd, finished int64) int {
	code := int32(command.ProcessState.ExitCode())
	if state, ok := command.ProcessState.Sys().(syscall.WaitStatus); ok && state.Signaled() {
		code = 128 + int32(state.Signal())
	}
	text, err := json.Marshal(exited{Code: code, Finished: finished})
	if err != nil || replaceFile(filepath.Join(b.Folder, "exit.json"), text) != nil {
		return 1
	}
	return 0
}

// startInit starts a container's first process and returns once its program runs in its place.
func startInit(file string) (*bundle, *exec.Cmd, map[string]io.Reader, error) {
	b, err := readBundle(file)
	if err != nil {
		return nil, nil, nil, err
	}
	command := exec.Command("/proc/self/exe", "init", file)
	command.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Cloneflags: syscall.CLONE_NEWNS}
	command.Env = []string{}
	// Pipes of our own: Wait would close those of os/exec before all was read.
	var pipes, ends [3]*os.File
	for i := range pipes {
		if pipes[i], ends[i], err = os.Pipe(); err != nil {
			return nil, nil, nil, err
		}
	}
	stdout, stderr, problems := pipes[0], pipes[1], pipes[2]
	command.Stdout, command.Stderr, command.ExtraFiles = ends[0], ends[1], ends[2:]
	if err := command.Start(); err != nil {
		return nil, nil, nil, err
	}
	for _, end := range ends {
		end.Close()
	}
	// The program's start closes the pipe; before that comes why it could not start.
	if problem, _ := io.ReadAll(problems); len(problem) > 0 {
		_ = command.Wait()
		return nil, nil, nil, errors.New(string(problem))
	}
	return b, command, map[string]io.Reader{"stdout": stdout, "stderr": stderr}, nil
}

func readBundle(file string) (*bundle, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	b := &bundle{}
	return b, json.Unmarshal(text, b)
}

// logFile is a container's log in the kubelet's format (kubernetes/design-proposals-archive: kubelet-cri-logging).
type logFile struct {
	path string
	mu   sync.Mutex
	file *os.File
}

func (l *logFile) open() error {
	if l.path == "" {
		return nil
	}
	file, err := os.OpenFile(l.path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o640)
	if err != nil {
		return err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.file != nil {
		l.file.Close()
	}
	l.file = file
	return nil
}

// Longest line in one piece (containerd: max_container_log_line_size).
const lineLimit = 16 * 1024

func (l *logFile) copy(stream string, from io.Reader) {
	reader := bufio.NewReaderSize(from, lineLimit)
	for {
		line, partial, err := reader.ReadLine()
		if err != nil {
			return
		}
		tag := "F"
		if partial {
			tag = "P"
		}
		l.mu.Lock()
		if l.file != nil {
			fmt.Fprintf(l.file, "%s %s %s %s\n", time.Now().Format(time.RFC3339Nano), stream, tag, line)
		}
		l.mu.Unlock()
	}
}
