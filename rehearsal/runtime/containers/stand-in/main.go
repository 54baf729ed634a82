// Command stand-in is runc's wrapper, what runs in a container whose program is not at hand, and the pod networks'
// own plug-ins, by its first argument. Small, and without a library: it starts some thousand times.
package main

import (
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"syscall"
	"time"
)

const (
	// programs is where a machine has the programs of this module.
	programs = "/.rehearsal/programs/containers/"
	// inContainer is this program in a container.
	inContainer = "/.stand-in"
	explanation = "no program of this container runs in the rehearsal"
)

func main() {
	switch command, args := os.Args[1], os.Args[2:]; command {
	case "runc":
		fail(wrap(args))
	case "flannel", "azure-vnet":
		fail(plugIn(command))
	case "pause":
		untilStopped()
	case "exec":
		fmt.Fprintln(os.Stderr, explanation)
	default:
		fmt.Println(explanation)
		fail(standIn(command, args))
	}
}

func fail(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func untilStopped() {
	stop := make(chan os.Signal, 1)
	signal.Notify(stop, syscall.SIGTERM, syscall.SIGINT)
	<-stop
}

// wrap becomes the real runc, with a bundle that a namespace can have.
func wrap(args []string) error {
	args = slices.DeleteFunc(args, func(argument string) bool { return argument == "--systemd-cgroup" })
	if bundle := option(args, "create", "--bundle"); bundle != "" {
		if err := change(filepath.Join(bundle, "config.json"), func(spec object) error { return fit(spec, bundle) }); err != nil {
			return err
		}
	}
	if process := option(args, "exec", "--process"); process != "" {
		id := args[len(args)-1]
		if err := change(process, func(command object) error { return fitCommand(command, id) }); err != nil {
			return err
		}
	}
	return syscall.Exec(programs+"runc", append([]string{"runc", "--rootless", "true"}, args...), os.Environ())
}

// option is the value of a command's option; empty for other commands.
func option(args []string, command, name string) string {
	if at := slices.Index(args, name); at > 0 && slices.Contains(args, command) {
		return args[at+1]
	}
	return ""
}

// standIn does what a pod's specification makes of its program: it ends after so many seconds with a code, or answers
// at ports.
func standIn(command string, ports []string) error {
	var code, seconds int
	if _, err := fmt.Sscanf(command, "end:%d:%d", &code, &seconds); err == nil {
		time.Sleep(time.Duration(seconds) * time.Second)
		os.Exit(code)
	}
	if err := answer(ports, command == "unhealthy"); err != nil {
		return err
	}
	untilStopped()
	return nil
}
