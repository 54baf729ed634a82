// A fake of the plug-ins that use keys of a cloud's key service for the API server, with the flags of both:
//
//   - kubernetes-sigs/aws-encryption-provider, cmd/server/main.go and pkg/plugin/plugin_v2.go (June 2026)
//   - Azure/kubernetes-kms v0.11.0, cmd/server/main.go and pkg/plugin
//
// Nobody publishes either one as a program or a Go module. The key service is missing: what would be its key is derived from the key's name,
// so that every machine has the same one, and another key cannot decrypt. A flag of the other program, or a missing one, ends it.
package main

import (
	"context"
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"crypto/sha256"
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
	keyID string
	box   cipher.AEAD
}

func newPlugin(keyID string) (*plugin, error) {
	key := sha256.Sum256([]byte(keyID))
	block, err := aes.NewCipher(key[:])
	if err != nil {
		return nil, err
	}
	box, err := cipher.NewGCM(block)
	return &plugin{keyID: keyID, box: box}, err
}

// Status says v2beta1, as both originals do.
func (p *plugin) Status(context.Context, *kms.StatusRequest) (*kms.StatusResponse, error) {
	return &kms.StatusResponse{Version: "v2beta1", Healthz: "ok", KeyId: p.keyID}, nil
}

func (p *plugin) Encrypt(_ context.Context, request *kms.EncryptRequest) (*kms.EncryptResponse, error) {
	nonce := make([]byte, p.box.NonceSize())
	if _, err := rand.Read(nonce); err != nil {
		return nil, err
	}
	return &kms.EncryptResponse{Ciphertext: p.box.Seal(nonce, nonce, request.Plaintext, nil), KeyId: p.keyID}, nil
}

func (p *plugin) Decrypt(_ context.Context, request *kms.DecryptRequest) (*kms.DecryptResponse, error) {
	size := p.box.NonceSize()
	if len(request.Ciphertext) < size {
		return nil, errors.New("the ciphertext is too short")
	}
	plain, err := p.box.Open(nil, request.Ciphertext[:size], request.Ciphertext[size:], nil)
	if err != nil {
		return nil, fmt.Errorf("the key %s has not encrypted this: %w", p.keyID, err)
	}
	return &kms.DecryptResponse{Plaintext: plain}, nil
}

// settings are what the flags say.
type settings struct{ keyID, socket, health string }

var keyARN = regexp.MustCompile(`^arn:aws[a-z-]*:kms:([a-z0-9-]+):\d{12}:key/`)

// parse reads the flags of the program whose name this one is started by.
func parse(name string, args []string) (settings, error) {
	flags := flag.NewFlagSet(name, flag.ContinueOnError)
	if name == "aws-encryption-provider" {
		key := flags.String("key", "", "")
		region := flags.String("region", "", "")
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
		return settings{*key, *listen, *health}, nil
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
	identity, err := os.ReadFile(*config)
	if err != nil {
		return settings{}, err
	}
	socket, isUnix := strings.CutPrefix(*listen, "unix://")
	if *vault == "" || *key == "" || *version == "" || !isUnix || !strings.Contains(string(identity), `"userAssignedIdentityID":"`) {
		return settings{}, errors.New("key vault name, key name and key version are required, a socket and an identity")
	}
	// A second one on the same machine ends here, as the original does.
	if _, err := net.Listen("tcp", ":"+*metrics); err != nil {
		return settings{}, err
	}
	id := fmt.Sprintf("https://%s.vault.azure.net/keys/%s/%s", *vault, *key, *version)
	return settings{id, socket, fmt.Sprintf(":%d", *health)}, nil
}

func run() error {
	wanted, err := parse(filepath.Base(os.Args[0]), os.Args[1:])
	if err != nil {
		return err
	}
	served, err := newPlugin(wanted.keyID)
	if err != nil {
		return err
	}
	if err := os.Remove(wanted.socket); err != nil && !os.IsNotExist(err) {
		return err
	}
	listener, err := net.Listen("unix", wanted.socket)
	if err != nil {
		return err
	}
	http.HandleFunc("/healthz", func(http.ResponseWriter, *http.Request) {})
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
