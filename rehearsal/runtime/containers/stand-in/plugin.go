package main

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// plugIn stands for a pod network's own plug-in, of which there is no module: it finds out the addresses as the
// original does, and leaves interfaces and leases to plug-ins of the CNI project.
func plugIn(name string) error {
	var config object
	if err := json.NewDecoder(os.Stdin).Decode(&config); err != nil {
		return err
	}
	delegate, _ := config["delegate"].(object)
	if delegate == nil {
		delegate = object{}
	}
	delegate["type"], delegate["ipMasq"] = "bridge", false
	find, routes := nodeRange, []object{}
	if name == "azure-vnet" {
		find, delegate["type"], routes = interfaceRanges, "ptp", []object{{"dst": "0.0.0.0/0"}}
	}
	ranges, err := find()
	if err != nil {
		if os.Getenv("CNI_COMMAND") == "ADD" {
			return explain(err)
		}
		// What goes is found by the container's id.
		ranges = []object{{"subnet": "192.0.2.0/24"}}
	}
	delegate["name"], delegate["cniVersion"] = config["name"], config["cniVersion"]
	delegate["ipam"] = object{"type": "host-local", "ranges": [][]object{ranges}, "routes": routes}
	input, err := json.Marshal(delegate)
	if err != nil {
		return err
	}
	command := exec.Command(filepath.Join(filepath.SplitList(os.Getenv("CNI_PATH"))[0], delegate["type"].(string)))
	command.Stdin, command.Stdout, command.Stderr = bytes.NewReader(input), os.Stdout, os.Stderr
	return command.Run()
}

// explain tells an error as plug-ins do (containernetworking/cni: SPEC.md, "Error").
func explain(err error) error {
	_ = json.NewEncoder(os.Stdout).Encode(object{"code": 11, "msg": err.Error()})
	return err
}

// nodeRange is the node's own range, as flanneld has left it (flannel-io/cni-plugin: flannel.go, loadFlannelSubnetEnv).
func nodeRange() ([]object, error) {
	text, err := os.ReadFile(subnetFile)
	if err != nil {
		return nil, fmt.Errorf("loadFlannelSubnetEnv failed: %w", err)
	}
	return []object{{"subnet": strings.TrimSpace(strings.TrimPrefix(string(text), "FLANNEL_SUBNET="))}}, nil
}

// azureQuery is azure-vnet-ipam's question to the platform (Azure/azure-container-networking v1.6.48: ipam/azure.go).
const azureQuery = "http://168.63.129.16/machine/plugins?comp=nmagent&type=getinterfaceinfov1"

// interfaceRanges are the addresses of the machine's interface but its first, as azure-vnet-ipam asks for them. Stricter
// than the original, it refuses an address of the machine's own, since packets to it would never reach the pod.
func interfaceRanges() ([]object, error) {
	client := http.Client{Timeout: 10 * time.Second}
	answer, err := client.Get(azureQuery)
	if err != nil {
		return nil, err
	}
	defer answer.Body.Close()
	// The part of the answer that the plug-in reads (the same, common: XmlDocument).
	var document struct {
		Interface []struct {
			MacAddress string `xml:",attr"`
			IPSubnet   []struct {
				IPAddress []struct {
					Address   netip.Addr `xml:",attr"`
					IsPrimary bool       `xml:",attr"`
				}
			}
		}
	}
	if err := xml.NewDecoder(answer.Body).Decode(&document); err != nil {
		return nil, err
	}
	own, macs, err := machineInterfaces()
	if err != nil {
		return nil, err
	}
	var ranges []object
	for _, card := range document.Interface {
		if !macs[strings.ToLower(card.MacAddress)] {
			continue
		}
		for _, subnet := range card.IPSubnet {
			for _, each := range subnet.IPAddress {
				if each.IsPrimary {
					continue
				}
				if own[each.Address] {
					return nil, fmt.Errorf("the machine has %s itself, so no pod can", each.Address)
				}
				// Wide enough for a gateway that nobody has: the machine gets it on each pod's link.
				around, err := each.Address.Prefix(16)
				if err != nil {
					return nil, err
				}
				gateway := around.Addr().As4()
				gateway[2], gateway[3] = 255, 254
				alone := object{"rangeStart": each.Address, "rangeEnd": each.Address}
				alone["subnet"], alone["gateway"] = around, netip.AddrFrom4(gateway)
				ranges = append(ranges, alone)
			}
		}
	}
	return ranges, nil
}

// machineInterfaces returns the machine's addresses, and the MAC addresses of its interfaces without colons.
func machineInterfaces() (map[netip.Addr]bool, map[string]bool, error) {
	own, macs := map[netip.Addr]bool{}, map[string]bool{}
	interfaces, err := net.Interfaces()
	if err != nil {
		return nil, nil, err
	}
	for _, each := range interfaces {
		macs[strings.ReplaceAll(each.HardwareAddr.String(), ":", "")] = true
	}
	addresses, err := net.InterfaceAddrs()
	for _, address := range addresses {
		if prefix, err := netip.ParsePrefix(address.String()); err == nil {
			own[prefix.Addr()] = true
		}
	}
	return own, macs, err
}
