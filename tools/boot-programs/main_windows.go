// Fakes of the programs of Kubernetes on a Windows machine that boots in a test: one file, which acts by its name.
package main

import (
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"golang.org/x/sys/windows"
	"golang.org/x/sys/windows/svc"
	"golang.org/x/sys/windows/svc/mgr"
)

const (
	health  = "127.0.0.1:10248"
	pipe    = `\\.\pipe\containerd-containerd`
	restart = `C:\fenestra-boot\restart`
)

func main() {
	name := strings.TrimSuffix(strings.ToLower(filepath.Base(os.Args[0])), ".exe")
	if err := run(name, os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, name+":", err)
		os.Exit(1)
	}
}

func run(name string, args []string) error {
	switch name {
	case "containerd":
		return containerd(args)
	case "kube-log-runner":
		// The kubelet is a child of this service, whose stop ends it too.
		for len(args) > 0 && strings.HasPrefix(args[0], "-") {
			args = args[1:]
		}
		kubelet := exec.Command(args[0], args[1:]...)
		if err := kubelet.Start(); err != nil {
			return err
		}
		defer kubelet.Process.Kill()
		return svc.Run("kubelet", service{})
	case "kubelet":
		return http.ListenAndServe(health, http.HandlerFunc(func(answer http.ResponseWriter, _ *http.Request) { fmt.Fprint(answer, "ok") }))
	case "kubectl":
		// A node is Ready while its kubelet runs.
		connection, err := net.Dial("tcp", health)
		if err != nil {
			return err
		}
		fmt.Println("Ready=True;")
		return connection.Close()
	case "shutdown":
		return os.WriteFile(restart, []byte(strings.Join(args, " ")), 0o600)
	}
	return nil
}

// Registers and unregisters its service as containerd does (containerd: cmd/containerd/command/service_windows.go), and
// serves its pipe.
func containerd(args []string) error {
	manager, err := mgr.Connect()
	if err != nil {
		return err
	}
	defer manager.Disconnect()
	switch args[0] {
	case "--register-service":
		program, err := os.Executable()
		if err != nil {
			return err
		}
		made, err := manager.CreateService("containerd", program, mgr.Config{StartType: mgr.StartAutomatic}, append([]string{"--run-service"}, args[1:]...)...)
		if err != nil {
			return err
		}
		return made.Close()
	case "--unregister-service":
		old, err := manager.OpenService("containerd")
		if err != nil {
			return err
		}
		defer old.Close()
		return old.Delete()
	}
	name, err := windows.UTF16PtrFromString(pipe)
	if err != nil {
		return err
	}
	server, err := windows.CreateNamedPipe(name, windows.PIPE_ACCESS_DUPLEX, windows.PIPE_TYPE_BYTE, windows.PIPE_UNLIMITED_INSTANCES, 512, 512, 0, nil)
	if err != nil {
		return err
	}
	go func() {
		// Whoever looks whether it is there has connected.
		for {
			windows.ConnectNamedPipe(server, nil)
			windows.DisconnectNamedPipe(server)
		}
	}()
	// An image is made with it as a process.
	if served, err := svc.IsWindowsService(); err == nil && !served {
		select {}
	}
	return svc.Run("containerd", service{})
}

// A service that does nothing until it is told to stop.
type service struct{}

func (service) Execute(_ []string, requests <-chan svc.ChangeRequest, status chan<- svc.Status) (bool, uint32) {
	status <- svc.Status{State: svc.Running, Accepts: svc.AcceptStop | svc.AcceptShutdown}
	for request := range requests {
		if request.Cmd == svc.Interrogate {
			status <- request.CurrentStatus
			continue
		}
		break
	}
	return false, 0
}
