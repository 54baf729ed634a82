package main

import (
	"encoding/xml"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"time"

	"github.com/containernetworking/cni/libcni"
)

// azureQuery is azure-vnet-ipam's question to the platform (Azure/azure-container-networking v1.6.48: ipam/azure.go).
const azureQuery = "http://168.63.129.16/machine/plugins?comp=nmagent&type=getinterfaceinfov1"

// azureInterfaces is the part of the answer that the plug-in reads (the same, common: XmlDocument).
type azureInterfaces struct {
	Interface []struct {
		MacAddress string `xml:",attr"`
		IPSubnet   []struct {
			IPAddress []struct {
				Address   string `xml:",attr"`
				IsPrimary bool   `xml:",attr"`
			}
		}
	}
}

// onInterface says whether pods have addresses of the machine's interface: azure-vnet with azure-vnet-ipam.
func onInterface(list *libcni.NetworkConfigList) bool {
	for _, plugin := range list.Plugins {
		if plugin.Network.Type == "azure-vnet" && plugin.Network.IPAM.Type == "azure-vnet-ipam" {
			return true
		}
	}
	return false
}

// address gives a pod an address of the node's range, or, where the plug-in is azure-vnet, of the machine's interface.
// The fake imitates azure-vnet-ipam: it asks for each pod, takes the machine's interfaces by MAC address, and leaves
// the primary address to the host. Stricter than the original, it refuses an address of the machine's own, since
// packets to it would never reach the pod.
func (n *podNetwork) address(id string) (netip.Addr, error) {
	list, err := n.config.network()
	if err != nil {
		return netip.Addr{}, err
	}
	if !onInterface(list) {
		return n.allocate(id)
	}
	addresses, err := secondaryAddresses()
	if err != nil {
		return netip.Addr{}, err
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, address := range addresses {
		if _, taken := n.used[address]; !taken {
			n.used[address] = id
			return address, nil
		}
	}
	return netip.Addr{}, fmt.Errorf("no available addresses: all %d of the interface are taken", len(addresses))
}

func secondaryAddresses() ([]netip.Addr, error) {
	client := http.Client{Timeout: 10 * time.Second}
	answer, err := client.Get(azureQuery)
	if err != nil {
		return nil, err
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("%s: %s", azureQuery, answer.Status)
	}
	var document azureInterfaces
	if err := xml.NewDecoder(answer.Body).Decode(&document); err != nil {
		return nil, err
	}
	own, macs, err := machineInterfaces()
	if err != nil {
		return nil, err
	}
	var addresses []netip.Addr
	for _, card := range document.Interface {
		if !macs[strings.ToLower(card.MacAddress)] {
			continue
		}
		for _, subnet := range card.IPSubnet {
			for _, each := range subnet.IPAddress {
				address, err := netip.ParseAddr(each.Address)
				if err != nil || each.IsPrimary {
					continue
				}
				if own[address] {
					return nil, fmt.Errorf("the machine has %s itself, so no pod can", address)
				}
				addresses = append(addresses, address)
			}
		}
	}
	return addresses, nil
}

// machineInterfaces returns the machine's addresses, and the MAC addresses of its interfaces without colons.
func machineInterfaces() (map[netip.Addr]bool, map[string]bool, error) {
	interfaces, err := net.Interfaces()
	if err != nil {
		return nil, nil, err
	}
	own, macs := map[netip.Addr]bool{}, map[string]bool{}
	for _, each := range interfaces {
		macs[strings.ReplaceAll(strings.ToLower(each.HardwareAddr.String()), ":", "")] = true
		addresses, err := each.Addrs()
		if err != nil {
			return nil, nil, err
		}
		for _, address := range addresses {
			if prefix, err := netip.ParsePrefix(address.String()); err == nil {
				own[prefix.Addr()] = true
			}
		}
	}
	return own, macs, nil
}
