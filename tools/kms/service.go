package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	v4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/credentials/ec2rolecreds"
)

// keyService is a key in the cloud's key service, used by the machine's identity.
type keyService interface {
	// id is what the API server keeps beside what was encrypted.
	id() string
	encrypt(ctx context.Context, plain []byte) ([]byte, error)
	decrypt(ctx context.Context, sealed []byte) ([]byte, error)
}

var client = &http.Client{Timeout: 5 * time.Second}

// send gives the error that the service answers, or its answer as JSON.
func send(request *http.Request, answer any) error {
	response, err := client.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		return err
	}
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("%s answers %d: %s", request.URL.Host, response.StatusCode, body)
	}
	return json.Unmarshal(body, answer)
}

// awsKey calls KMS with the role of the instance (pkg/cloud/cloud.go and pkg/plugin/plugin_v2.go of the original).
type awsKey struct {
	arn, region, endpoint string
	credentials           aws.CredentialsProvider
}

// newAWSKey takes the credentials of the environment before those of the instance, as the SDK's default chain does.
func newAWSKey(arn, region, endpoint string) awsKey {
	if endpoint == "" {
		endpoint = "https://kms." + region + ".amazonaws.com"
	}
	if id := os.Getenv("AWS_ACCESS_KEY_ID"); id != "" {
		return awsKey{arn, region, endpoint, credentials.NewStaticCredentialsProvider(id, os.Getenv("AWS_SECRET_ACCESS_KEY"), "")}
	}
	return awsKey{arn, region, endpoint, aws.NewCredentialsCache(ec2rolecreds.New())}
}

func (k awsKey) id() string { return k.arn }

func (k awsKey) encrypt(ctx context.Context, plain []byte) ([]byte, error) {
	var answer struct{ CiphertextBlob []byte }
	err := k.call(ctx, "Encrypt", map[string]any{"KeyId": k.arn, "Plaintext": plain}, &answer)
	return answer.CiphertextBlob, err
}

// decrypt leaves it to KMS which key has encrypted, as the original does.
func (k awsKey) decrypt(ctx context.Context, sealed []byte) ([]byte, error) {
	var answer struct{ Plaintext []byte }
	err := k.call(ctx, "Decrypt", map[string]any{"CiphertextBlob": sealed}, &answer)
	return answer.Plaintext, err
}

func (k awsKey) call(ctx context.Context, operation string, input map[string]any, answer any) error {
	body, err := json.Marshal(input)
	if err != nil {
		return err
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, k.endpoint+"/", bytes.NewReader(body))
	if err != nil {
		return err
	}
	request.Header.Set("Content-Type", "application/x-amz-json-1.1")
	request.Header.Set("X-Amz-Target", "TrentService."+operation)
	identity, err := k.credentials.Retrieve(ctx)
	if err != nil {
		return err
	}
	hash := sha256.Sum256(body)
	if err := v4.NewSigner().SignHTTP(ctx, identity, request, hex.EncodeToString(hash[:]), "kms", k.region, time.Now()); err != nil {
		return err
	}
	return send(request, answer)
}

// azureKey calls Key Vault with an identity of the machine (pkg/plugin/keyvault.go and pkg/auth/auth.go of the original).
type azureKey struct{ url, clientID string }

func (k azureKey) id() string { return fmt.Sprintf("%x", sha256.Sum256([]byte(k.url))) }

func (k azureKey) encrypt(ctx context.Context, plain []byte) ([]byte, error) {
	value, err := k.call(ctx, "encrypt", base64.RawURLEncoding.EncodeToString(plain))
	return []byte(value), err
}

func (k azureKey) decrypt(ctx context.Context, sealed []byte) ([]byte, error) {
	value, err := k.call(ctx, "decrypt", string(sealed))
	if err != nil {
		return nil, err
	}
	return base64.RawURLEncoding.DecodeString(value)
}

func (k azureKey) call(ctx context.Context, operation, value string) (string, error) {
	query := url.Values{"api-version": {"2018-02-01"}, "resource": {"https://vault.azure.net"}, "client_id": {k.clientID}}
	identity := "http://169.254.169.254/metadata/identity/oauth2/token?" + query.Encode()
	asked, err := http.NewRequestWithContext(ctx, http.MethodGet, identity, nil)
	if err != nil {
		return "", err
	}
	asked.Header.Set("Metadata", "true")
	var token struct {
		AccessToken string `json:"access_token"`
	}
	if err := send(asked, &token); err != nil {
		return "", err
	}
	body, err := json.Marshal(map[string]string{"alg": "RSA-OAEP-256", "value": value})
	if err != nil {
		return "", err
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, k.url+"/"+operation+"?api-version=2016-10-01", bytes.NewReader(body))
	if err != nil {
		return "", err
	}
	request.Header.Set("Authorization", "Bearer "+token.AccessToken)
	request.Header.Set("Content-Type", "application/json")
	var answer struct {
		Kid   string `json:"kid"`
		Value string `json:"value"`
	}
	if err := send(request, &answer); err != nil {
		return "", err
	}
	if answer.Kid != k.url {
		return "", fmt.Errorf("the answer is of the key %s, wanted %s", answer.Kid, k.url)
	}
	return answer.Value, nil
}
