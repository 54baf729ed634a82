package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"golang.org/x/sys/unix"
	cri "k8s.io/cri-api/pkg/apis/runtime/v1"
)

// problemFile is where a first process tells its supervisor why it cannot become the program.
const problemFile = 3

// initMain is a container's first process, in its own mount namespace: it makes the container's root and becomes the
// program.
func initMain(file string) {
	// What follows concerns this thread: network namespace, capabilities.
	runtime.LockOSThread()
	unix.CloseOnExec(problemFile)
	err := become(file)
	problems := os.NewFile(problemFile, "problems")
	fmt.Fprint(problems, err.Error())
	os.Exit(1)
}

func become(file string) error {
	b, err := readBundle(file)
	if err != nil {
		return err
	}
	if b.NetNS != "" {
		if err := enterNetNS(b.NetNS, func() error { return nil }); err != nil {
			return err
		}
	}
	if err := makeRoot(b); err != nil {
		return err
	}
	security := b.Config.GetLinux().GetSecurityContext()
	if err := os.MkdirAll(workingDir(b), 0o755); err != nil && !security.GetReadonlyRootfs() {
		return err
	}
	if err := unix.Chdir(workingDir(b)); err != nil {
		return fmt.Errorf("chdir to cwd (%q) set in config.json failed: %w", workingDir(b), err)
	}
	os.Clearenv()
	for _, pair := range b.Env {
		name, value, _ := strings.Cut(pair, "=")
		os.Setenv(name, value)
	}
	program, err := exec.LookPath(b.Argv[0])
	if err != nil {
		return err
	}
	unix.Umask(0o022)
	if err := dropRights(b, security); err != nil {
		return err
	}
	return unix.Exec(program, b.Argv, os.Environ())
}

func workingDir(b *bundle) string { return or(b.Config.GetWorkingDir(), "/") }

// makeRoot makes the container's root and moves into it: the image's files, what the container mounts, and nothing else
// of the machine. A file that its pod does not mount is missing, as in a real container.
func makeRoot(b *bundle) error {
	root := filepath.Join(b.Folder, "root")
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return err
	}
	for _, folder := range []string{"dev", "etc/ssl/certs", "proc", "sys", "tmp", "var/tmp", "run", "old-root"} {
		if err := os.MkdirAll(filepath.Join(root, folder), 0o755); err != nil {
			return err
		}
	}
	for _, folder := range []string{"tmp", "var/tmp"} {
		if err := os.Chmod(filepath.Join(root, folder), 0o1777); err != nil {
			return err
		}
	}
	if err := bind(root, root, false); err != nil {
		return err
	}
	if err := systemMounts(root, b); err != nil {
		return err
	}
	for place, source := range b.Image.Files {
		if err := bind(source, filepath.Join(root, place), true); err != nil {
			return err
		}
	}
	for _, mount := range b.Config.GetMounts() {
		// The kubelet gives deeper paths after those that hold them; each is resolved as the machine sees it.
		if err := bind(mount.GetHostPath(), filepath.Join(root, mount.GetContainerPath()), mount.GetReadonly()); err != nil {
			return fmt.Errorf("mount %s: %w", mount.GetContainerPath(), err)
		}
	}
	if err := unix.PivotRoot(root, filepath.Join(root, "old-root")); err != nil {
		return fmt.Errorf("pivot_root: %w", err)
	}
	if err := unix.Chdir("/"); err != nil {
		return err
	}
	if err := unix.Unmount("/old-root", unix.MNT_DETACH); err != nil {
		return err
	}
	if err := os.Remove("/old-root"); err != nil {
		return err
	}
	if b.Config.GetLinux().GetSecurityContext().GetReadonlyRootfs() {
		return readOnly("/", false)
	}
	return nil
}

// systemMounts are what every container, or a small distribution, has of its machine.
func systemMounts(root string, b *bundle) error {
	privileged := b.Config.GetLinux().GetSecurityContext().GetPrivileged()
	if err := bind("/proc", filepath.Join(root, "proc"), false); err != nil {
		return err
	}
	if err := bind("/sys", filepath.Join(root, "sys"), !privileged); err != nil {
		return err
	}
	if privileged {
		if err := bind("/dev", filepath.Join(root, "dev"), false); err != nil {
			return err
		}
	} else {
		for _, device := range []string{"null", "zero", "full", "random", "urandom"} {
			if err := bind("/dev/"+device, filepath.Join(root, "dev", device), false); err != nil {
				return err
			}
		}
	}
	if b.Image.System {
		for _, folder := range []string{"usr", "bin", "sbin", "lib", "lib32", "lib64"} {
			if err := systemFolder(root, folder); err != nil {
				return err
			}
		}
	}
	return writeNames(root, b)
}

// systemFolder shows a folder of the machine's programs and libraries, or repeats the link that it is.
func systemFolder(root, folder string) error {
	target, err := os.Readlink("/" + folder)
	if err == nil {
		err = os.Symlink(target, filepath.Join(root, folder))
		if os.IsExist(err) {
			return nil
		}
		return err
	}
	if _, err := os.Stat("/" + folder); err != nil {
		return nil
	}
	return bind("/"+folder, filepath.Join(root, folder), true)
}

// writeNames writes the files that resolve names; /etc/hosts is the kubelet's.
func writeNames(root string, b *bundle) error {
	var lines []string
	for _, server := range b.DNS.GetServers() {
		lines = append(lines, "nameserver "+server)
	}
	if searches := b.DNS.GetSearches(); len(searches) > 0 {
		lines = append(lines, "search "+strings.Join(searches, " "))
	}
	if options := b.DNS.GetOptions(); len(options) > 0 {
		lines = append(lines, "options "+strings.Join(options, " "))
	}
	files := map[string]string{
		"resolv.conf":   strings.Join(lines, "\n") + "\n",
		"passwd":        "root:x:0:0:root:/root:/sbin/nologin\nnobody:x:65534:65534:nobody:/nonexistent:/sbin/nologin\n",
		"group":         "root:x:0:\nnobody:x:65534:\n",
		"nsswitch.conf": "hosts: files dns\n",
	}
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(root, "etc", name), []byte(text), 0o644); err != nil {
			return err
		}
	}
	return nil
}

// bind shows a file or folder at another place, and makes what must exist for that, the source included, as container
// runtimes do.
func bind(source, target string, ro bool) error {
	info, err := os.Stat(source)
	if os.IsNotExist(err) {
		if err = os.MkdirAll(source, 0o755); err == nil {
			info, err = os.Stat(source)
		}
	}
	if err != nil {
		return err
	}
	if info.IsDir() {
		err = os.MkdirAll(target, 0o755)
	} else if err = os.MkdirAll(filepath.Dir(target), 0o755); err == nil {
		var file *os.File
		if file, err = os.OpenFile(target, os.O_CREATE, 0o644); err == nil {
			file.Close()
		}
	}
	if err != nil {
		return err
	}
	if err := unix.Mount(source, target, "", unix.MS_BIND|unix.MS_REC, ""); err != nil {
		return fmt.Errorf("bind %s: %w", source, err)
	}
	if ro {
		return readOnly(target, true)
	}
	return nil
}

// readOnly needs Linux 5.12; a remount would have to repeat each flag that a user namespace has locked.
func readOnly(path string, recursive bool) error {
	var flags uint
	if recursive {
		flags = unix.AT_RECURSIVE
	}
	return unix.MountSetattr(-1, path, flags, &unix.MountAttr{Attr_set: unix.MOUNT_ATTR_RDONLY})
}

// defaultCapabilities are those of a container that asks for none (containerd: pkg/oci, defaultUnixCaps; capability(7)).
var defaultCapabilities = []string{
	"CHOWN", "DAC_OVERRIDE", "FSETID", "FOWNER", "MKNOD", "NET_RAW", "SETGID", "SETUID", "SETFCAP", "SETPCAP", "NET_BIND_SERVICE", "SYS_CHROOT",
	"KILL", "AUDIT_WRITE",
}

// capabilities by their numbers (linux/capability.h).
var capabilities = []string{
	"CHOWN", "DAC_OVERRIDE", "DAC_READ_SEARCH", "FOWNER", "FSETID", "KILL", "SETGID", "SETUID", "SETPCAP", "LINUX_IMMUTABLE", "NET_BIND_SERVICE",
	"NET_BROADCAST", "NET_ADMIN", "NET_RAW", "IPC_LOCK", "IPC_OWNER", "SYS_MODULE", "SYS_RAWIO", "SYS_CHROOT", "SYS_PTRACE", "SYS_PACCT", "SYS_ADMIN",
	"SYS_BOOT", "SYS_NICE", "SYS_RESOURCE", "SYS_TIME", "SYS_TTY_CONFIG", "MKNOD", "LEASE", "AUDIT_WRITE", "AUDIT_CONTROL", "SETFCAP",
	"MAC_OVERRIDE", "MAC_ADMIN", "SYSLOG", "WAKE_ALARM", "BLOCK_SUSPEND", "AUDIT_READ", "PERFMON", "BPF", "CHECKPOINT_RESTORE",
}

// dropRights becomes the user that the pod asks for and keeps only its capabilities. In a user namespace of one user
// every program stays root.
func dropRights(b *bundle, security *cri.LinuxContainerSecurityContext) error {
	if !security.GetPrivileged() {
		kept := defaultCapabilities
		asked := security.GetCapabilities()
		if slices.Contains(asked.GetDropCapabilities(), "ALL") {
			kept = nil
		}
		for number, name := range capabilities {
			if slices.Contains(asked.GetAddCapabilities(), "ALL") || slices.Contains(asked.GetAddCapabilities(), name) ||
				slices.Contains(kept, name) && !slices.Contains(asked.GetDropCapabilities(), name) {
				continue
			}
			// What the kernel does not know need not be dropped.
			_ = unix.Prctl(unix.PR_CAPBSET_DROP, uintptr(number), 0, 0, 0)
		}
	}
	var user int64
	if asked := security.GetRunAsUser(); asked != nil {
		user = asked.GetValue()
	}
	group := security.GetRunAsGroup().GetValue()
	if security.GetNoNewPrivs() {
		if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
			return err
		}
	}
	if oneUserOnly() {
		return nil
	}
	groups := []int{}
	for _, id := range security.GetSupplementalGroups() {
		groups = append(groups, int(id))
	}
	if err := unix.Setgroups(groups); err != nil {
		return err
	}
	if err := unix.Setresgid(int(group), int(group), int(group)); err != nil {
		return err
	}
	return unix.Setresuid(int(user), int(user), int(user))
}

// oneUserOnly tells whether this is a user namespace of root alone.
func oneUserOnly() bool {
	text, err := os.ReadFile("/proc/self/uid_map")
	fields := strings.Fields(string(text))
	return err == nil && len(fields) == 3 && fields[2] == "1"
}
