package main

import (
	"fmt"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"

	"github.com/containernetworking/cni/pkg/invoke"
	"golang.org/x/sys/unix"
)

// podNetwork gives pods addresses of the node's own range, and a network namespace that the machine reaches. It stands
// in for the plug-ins of the pod network's configuration, which must be there, but do not run.
type podNetwork struct {
	config *runtimeConfig
	folder string
	mu     sync.Mutex
	// prefix is the node's range, from the kubelet once the node has one.
	prefix netip.Prefix
	used   map[netip.Addr]string
	next   netip.Addr
}

// newPodNetwork takes up the addresses of existing pods.
func newPodNetwork(config *runtimeConfig, folder string, pods *store) *podNetwork {
	n := &podNetwork{config: config, folder: folder, used: map[netip.Addr]string{}}
	// The machine's own setting goes through sysctl, a fake.
	_ = os.WriteFile("/proc/sys/net/ipv4/ip_forward", []byte("1"), 0)
	for id, pod := range pods.sandboxes {
		if address, err := netip.ParseAddr(pod.IP); err == nil && pod.Ready {
			n.used[address] = id
		}
	}
	return n
}

func (n *podNetwork) setRange(text string) error {
	// A node of two families has two, with a comma between; the first one counts.
	prefix, err := netip.ParsePrefix(strings.Split(text, ",")[0])
	if err != nil {
		return err
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	n.prefix = prefix.Masked()
	return nil
}

// problem says why pods get no network now, if so. Only the configuration counts for the condition NetworkReady, as in
// containerd.
func (n *podNetwork) problem() error {
	_, err := n.config.network()
	return err
}

// ready checks what adding a pod needs: every plug-in's program (containernetworking/cni: pkg/invoke), and the range,
// which flannel's plug-in would read from flanneld's file.
func (n *podNetwork) ready() error {
	list, err := n.config.network()
	if err != nil {
		return err
	}
	plugins := []string{"loopback"}
	for _, plugin := range list.Plugins {
		plugins = append(plugins, plugin.Network.Type)
		if plugin.Network.Type == "flannel" {
			// Its delegates on Linux (flannel-io/cni-plugin: flannel_linux.go).
			plugins = append(plugins, "bridge", "host-local")
		}
	}
	for _, plugin := range plugins {
		if _, err := invoke.FindInPath(plugin, n.config.CNIBin); err != nil {
			return err
		}
	}
	if onInterface(list) {
		return nil
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if !n.prefix.IsValid() {
		return fmt.Errorf("the node has no range of pod addresses yet")
	}
	return n.bridge()
}

// bridge makes the interface that the bridge plug-in leaves in a machine's kernel, with the range's first address;
// beside another one it is refused (containernetworking/plugins: plugins/main/bridge/bridge.go, ensureAddr).
func (n *podNetwork) bridge() error {
	wanted := netip.PrefixFrom(n.prefix.Addr().Next(), n.prefix.Bits()).String()
	found, err := exec.Command("ip", "-4", "-oneline", "address", "show", "dev", "cni0").Output()
	if err != nil {
		return ipBatch(nil, []string{"link add cni0 type bridge", "address add " + wanted + " dev cni0", "link set cni0 up"})
	}
	if !strings.Contains(string(found), " "+wanted+" ") {
		return fmt.Errorf("failed to set bridge addr: \"cni0\" already has an IP address different from %s", wanted)
	}
	return nil
}

func (n *podNetwork) allocate(id string) (netip.Addr, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	// The range's first address is the bridge's, as with host-local.
	first := n.prefix.Addr().Next().Next()
	if !n.next.IsValid() || !n.prefix.Contains(n.next) {
		n.next = first
	}
	for address, turns := n.next, 0; turns < 2; address = address.Next() {
		if !n.prefix.Contains(address.Next()) {
			address, turns = first, turns+1
		}
		if _, taken := n.used[address]; !taken {
			n.used[address], n.next = id, address.Next()
			return address, nil
		}
	}
	return netip.Addr{}, fmt.Errorf("no address is left in %s", n.prefix)
}

// add makes a pod's namespace and returns its address and the namespace's file.
func (n *podNetwork) add(id string) (ip, netns string, err error) {
	if err := n.ready(); err != nil {
		return "", "", err
	}
	address, err := n.address(id)
	if err != nil {
		return "", "", err
	}
	netns = filepath.Join(n.folder, id[:13])
	defer func() {
		if err != nil {
			n.remove(id, netns)
		}
	}()
	if err := newNetNS(netns); err != nil {
		return "", "", err
	}
	link, gateway := linkOf(id), "169.254.1.1"
	// A point-to-point link with a fixed neighbour needs no bridge and no ARP.
	outside := []string{
		fmt.Sprintf("link add %s address ee:ee:ee:ee:ee:ee type veth peer name eth0 netns %s", link, netns),
		fmt.Sprintf("link set %s up", link),
		fmt.Sprintf("route replace %s/32 dev %s", address, link),
	}
	inside := []string{
		"link set lo up",
		fmt.Sprintf("address add %s/32 dev eth0", address),
		"link set eth0 up",
		fmt.Sprintf("neighbour add %s lladdr ee:ee:ee:ee:ee:ee dev eth0 nud permanent", gateway),
		fmt.Sprintf("route add %s dev eth0 scope link", gateway),
		fmt.Sprintf("route add default via %s dev eth0", gateway),
	}
	if err := ipBatch(nil, outside); err != nil {
		return "", "", err
	}
	return address.String(), netns, ipBatch([]string{"nsenter", "--net=" + netns}, inside)
}

// remove takes a pod's network away, once.
func (n *podNetwork) remove(id, netns string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for address, owner := range n.used {
		if owner == id {
			delete(n.used, address)
		}
	}
	// The pair goes with the namespace, but the kernel may take its time.
	_ = exec.Command("ip", "link", "delete", linkOf(id)).Run()
	_ = unix.Unmount(netns, unix.MNT_DETACH)
	_ = os.Remove(netns)
}

func linkOf(id string) string { return "veth" + id[:8] }

// newNetNS makes a network namespace that a file keeps open.
func newNetNS(file string) error {
	if err := os.MkdirAll(filepath.Dir(file), 0o711); err != nil {
		return err
	}
	if err := os.WriteFile(file, nil, 0o444); err != nil {
		return err
	}
	result := make(chan error)
	go func() {
		// The thread is never unlocked, so it ends with the goroutine and nobody else gets its namespace.
		runtime.LockOSThread()
		if err := unix.Unshare(unix.CLONE_NEWNET); err != nil {
			result <- err
			return
		}
		// containerd lets pods listen on low ports (containerd: docs/cri/config.md, enable_unprivileged_ports).
		_ = os.WriteFile("/proc/sys/net/ipv4/ip_unprivileged_port_start", []byte("0"), 0)
		result <- unix.Mount(fmt.Sprintf("/proc/self/task/%d/ns/net", unix.Gettid()), file, "", unix.MS_BIND, "")
	}()
	return <-result
}

// inNetNS calls a function on a thread in a network namespace; an empty name is the machine's own.
func inNetNS(file string, call func() error) error {
	if file == "" {
		return call()
	}
	result := make(chan error)
	go func() {
		runtime.LockOSThread()
		result <- enterNetNS(file, call)
	}()
	return <-result
}

func enterNetNS(file string, call func() error) error {
	handle, err := os.Open(file)
	if err != nil {
		return err
	}
	defer handle.Close()
	if err := unix.Setns(int(handle.Fd()), unix.CLONE_NEWNET); err != nil {
		return err
	}
	return call()
}

func ipBatch(prefix, lines []string) error {
	argv := append(append([]string{}, prefix...), "ip", "-batch", "-")
	command := exec.Command(argv[0], argv[1:]...)
	command.Stdin = strings.NewReader(strings.Join(lines, "\n") + "\n")
	if out, err := command.CombinedOutput(); err != nil {
		return fmt.Errorf("ip: %w: %s", err, strings.TrimSpace(string(out)))
	}
	return nil
}
