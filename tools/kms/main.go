// A fake of the plug-ins that use keys of a cloud's key service for the API server, with the flags of both:
//
//   - kubernetes-sigs/aws-encryption-provider, cmd/server/main.go and pkg/plugin/plugin_v2.go (June 2026)
//   - Azure/kubernetes-kms v0.11.0, cmd/server/main.go and pkg/plugin
//
// Nobody publishes either one as a program or a Go module. Like them it asks the key service for everything, with the machine's identity
// (service.go). Kinder in two things: an error is not kept for 30 seconds (AWS), and annotations are not looked at (Azure). A flag of the other
// program, or a missing one, ends it.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"log"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"google.golang.org/grpc"
	kms "k8s.io/kms/apis/v2"
)

// plugin serves one key.
type plugin struct {
	kms.UnimplementedKeyManagementServiceServer
	service keyService
}

// health is whether the key can be used: both originals encrypt and decrypt for it.
func (p *plugin) health(ctx context.Context) error {
	sealed, err := p.service.encrypt(ctx, []byte("foo"))
	if err != nil {
		return err
	}
	_, err = p.service.decrypt(ctx, sealed)
	return err
}

// Status says v2beta1, as both originals do.
func (p *plugin) Status(ctx context.Context, _ *kms.StatusRequest) (*kms.StatusResponse, error) {
	if err := p.health(ctx); err != nil {
		return nil, err
	}
	return &kms.StatusResponse{Version: "v2beta1", Healthz: "ok", KeyId: p.service.id()}, nil
}

func (p *plugin) Encrypt(ctx context.Context, request *kms.EncryptRequest) (*kms.EncryptResponse, error) {
	sealed, err := p.service.encrypt(ctx, request.Plaintext)
	if err != nil {
		return nil, fmt.Errorf("failed to encrypt: %w", err)
	}
	return &kms.EncryptResponse{Ciphertext: sealed, KeyId: p.service.id()}, nil
}

func (p *plugin) Decrypt(ctx context.Context, request *kms.DecryptRequest) (*kms.DecryptResponse, error) {
	plain, err := p.service.decrypt(ctx, request.Ciphertext)
	if err != nil {
		return nil, fmt.Errorf("failed to decrypt: %w", err)
	}
	return &kms.DecryptResponse{Plaintext: plain}, nil
}

// settings are what the flags say.
type settings struct {
	service        keyService
	socket, health string
}

var keyARN = regexp.MustCompile(`^arn:aws[a-z-]*:kms:([a-z0-9-]+):\d{12}:key/`)

// parse reads the flags of the program whose name this one is started by.
func parse(name string, args []string) (settings, error) {
	flags := flag.NewFlagSet(name, flag.ContinueOnError)
	if name == "aws-encryption-provider" {
		key := flags.String("key", "", "")
		region := flags.String("region", "", "")
		endpoint := flags.String("kms-endpoint", "", "")
		listen := flags.String("listen", "/var/run/kmsplugin/socket.sock", "")
		health := flags.String("health-port", ":8080", "")
		version := flags.String("health-kms-version", "v1", "")
		if err := flags.Parse(args); err != nil {
			return settings{}, err
		}
		found := keyARN.FindStringSubmatch(*key)
		if found == nil || found[1] != *region || *version != "v2" {
			return settings{}, fmt.Errorf("the key %q, its region %q or the version %q of its health is wrong", *key, *region, *version)
		}
		return settings{newAWSKey(*key, *region, *endpoint), *listen, *health}, nil
	}
	vault := flags.String("keyvault-name", "", "")
	key := flags.String("key-name", "", "")
	version := flags.String("key-version", "", "")
	listen := flags.String("listen-addr", "unix:///opt/azurekms.socket", "")
	config := flags.String("config-file-path", "/etc/kubernetes/azure.json", "")
	health := flags.Uint("healthz-port", 8787, "")
	metrics := flags.String("metrics-addr", "8095", "")
	if err := flags.Parse(args); err != nil {
		return settings{}, err
	}
	content, err := os.ReadFile(*config)
	if err != nil {
		return settings{}, err
	}
	var identity struct {
		UserAssignedIdentityID string `json:"userAssignedIdentityID"`
	}
	if err := json.Unmarshal(content, &identity); err != nil {
		return settings{}, err
	}
	socket, isUnix := strings.CutPrefix(*listen, "unix://")
	if *vault == "" || *key == "" || *version == "" || !isUnix || identity.UserAssignedIdentityID == "" {
		return settings{}, errors.New("key vault name, key name and key version are required, a socket and an identity")
	}
	// A second one on the same machine ends here, as the original does.
	if _, err := net.Listen("tcp", ":"+*metrics); err != nil {
		return settings{}, err
	}
	url := fmt.Sprintf("https://%s.vault.azure.net/keys/%s/%s", *vault, *key, *version)
	return settings{azureKey{url, identity.UserAssignedIdentityID}, socket, fmt.Sprintf(":%d", *health)}, nil
}

func run() error {
	wanted, err := parse(filepath.Base(os.Args[0]), os.Args[1:])
	if err != nil {
		return err
	}
	served := &plugin{service: wanted.service}
	if err := os.Remove(wanted.socket); err != nil && !os.IsNotExist(err) {
		return err
	}
	listener, err := net.Listen("unix", wanted.socket)
	if err != nil {
		return err
	}
	http.HandleFunc("/healthz", func(response http.ResponseWriter, request *http.Request) {
		if err := served.health(request.Context()); err != nil {
			http.Error(response, err.Error(), http.StatusInternalServerError)
		}
	})
	go func() { log.Fatal(http.ListenAndServe(wanted.health, nil)) }()
	server := grpc.NewServer()
	kms.RegisterKeyManagementServiceServer(server, served)
	return server.Serve(listener)
}

func main() {
	if err := run(); err != nil {
		log.Fatal(err)
	}
}
