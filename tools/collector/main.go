// The log collector with the components that a cluster's configuration names, from upstream's modules: it reads such a configuration with
// `validate`, and runs it. What it has not from upstream, since the modules are not to be had, says so below.
package main

import (
	"context"
	"fmt"
	"os"
	"strings"

	"github.com/open-telemetry/opentelemetry-collector-contrib/extension/sigv4authextension"
	"github.com/open-telemetry/opentelemetry-collector-contrib/extension/storage/filestorage"
	"github.com/open-telemetry/opentelemetry-collector-contrib/pkg/stanza/adapter"
	"github.com/open-telemetry/opentelemetry-collector-contrib/pkg/stanza/operator"
	"github.com/open-telemetry/opentelemetry-collector-contrib/pkg/stanza/operator/input/journald"
	"github.com/open-telemetry/opentelemetry-collector-contrib/pkg/stanza/operator/input/windows"
	"github.com/open-telemetry/opentelemetry-collector-contrib/processor/k8sattributesprocessor"
	"github.com/open-telemetry/opentelemetry-collector-contrib/processor/resourceprocessor"
	"github.com/open-telemetry/opentelemetry-collector-contrib/processor/transformprocessor"
	"github.com/open-telemetry/opentelemetry-collector-contrib/receiver/filelogreceiver"
	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/confmap"
	"go.opentelemetry.io/collector/consumer"
	"go.opentelemetry.io/collector/exporter"
	"go.opentelemetry.io/collector/exporter/otlphttpexporter"
	"go.opentelemetry.io/collector/extension"
	"go.opentelemetry.io/collector/otelcol"
	"go.opentelemetry.io/collector/processor"
	"go.opentelemetry.io/collector/processor/memorylimiterprocessor"
	"go.opentelemetry.io/collector/receiver"
	"go.opentelemetry.io/collector/service/telemetry/otelconftelemetry"
)

// journaldConfig and eventLogConfig have the fields of upstream's receivers, which only wrap these inputs (contrib: receiver/journaldreceiver,
// receiver/windowseventlogreceiver, v0.159.0).
type journaldConfig struct {
	InputConfig        journald.Config `mapstructure:",squash"`
	adapter.BaseConfig `mapstructure:",squash"`
}

type eventLogConfig struct {
	InputConfig        windows.Config `mapstructure:",squash"`
	adapter.BaseConfig `mapstructure:",squash"`
}

type journaldType struct{}

func (journaldType) Type() component.Type { return component.MustNewType("journald") }
func (journaldType) CreateDefaultConfig() component.Config {
	return &journaldConfig{InputConfig: *journald.NewConfig()}
}
func (journaldType) BaseConfig(config component.Config) adapter.BaseConfig {
	return config.(*journaldConfig).BaseConfig
}
func (journaldType) InputConfig(config component.Config) operator.Config {
	return operator.NewConfig(&config.(*journaldConfig).InputConfig)
}

// nothing is a component that does nothing.
type nothing struct{}

func (nothing) Start(context.Context, component.Host) error { return nil }
func (nothing) Shutdown(context.Context) error              { return nil }

// On Linux the input of events cannot be built, so only its configuration is read.
func eventLogs() receiver.Factory {
	return receiver.NewFactory(component.MustNewType("windowseventlog"),
		func() component.Config { return &eventLogConfig{InputConfig: *windows.NewConfig()} },
		receiver.WithLogs(func(context.Context, receiver.Settings, component.Config, consumer.Logs) (receiver.Logs, error) {
			return nothing{}, nil
		}, component.StabilityLevelAlpha))
}

// azureAuth has the fields and the checks of upstream's extension (contrib: extension/azureauthextension/config.go, v0.159.0) and none of what
// it does.
type azureAuth struct {
	Workload struct {
		ClientID           string `mapstructure:"client_id"`
		TenantID           string `mapstructure:"tenant_id"`
		FederatedTokenFile string `mapstructure:"federated_token_file"`
	} `mapstructure:"workload_identity"`
	Scopes []string `mapstructure:"scopes"`
}

func (config *azureAuth) Validate() error {
	for name, value := range map[string]string{
		"tenant_id": config.Workload.TenantID, "client_id": config.Workload.ClientID,
		"federated_token_file": config.Workload.FederatedTokenFile,
	} {
		if value == "" {
			return fmt.Errorf("empty %q field", name)
		}
	}
	return nil
}

func azureAuthentication() extension.Factory {
	return extension.NewFactory(component.MustNewType("azureauth"),
		func() component.Config { return &azureAuth{} },
		func(context.Context, extension.Settings, component.Config) (extension.Extension, error) {
			return nothing{}, nil
		}, component.StabilityLevelAlpha)
}

// files and variables read what `file:` and `env:` name, as upstream's confmap/provider does.
type provider struct {
	scheme string
	read   func(name string) ([]byte, error)
}

func (p provider) Retrieve(_ context.Context, uri string, _ confmap.WatcherFunc) (*confmap.Retrieved, error) {
	content, err := p.read(strings.TrimPrefix(uri, p.scheme+":"))
	if err != nil {
		return nil, err
	}
	return confmap.NewRetrievedFromYAML(content)
}
func (p provider) Scheme() string               { return p.scheme }
func (provider) Shutdown(context.Context) error { return nil }

func providerFactory(scheme string, read func(string) ([]byte, error)) confmap.ProviderFactory {
	return confmap.NewProviderFactory(func(confmap.ProviderSettings) confmap.Provider { return provider{scheme, read} })
}

func variable(name string) ([]byte, error) {
	value, found := os.LookupEnv(name)
	if !found {
		return nil, fmt.Errorf("no variable %s", name)
	}
	return []byte(value), nil
}

func factories() (made otelcol.Factories, err error) {
	if made.Receivers, err = otelcol.MakeFactoryMap[receiver.Factory](filelogreceiver.NewFactory(),
		adapter.NewFactory(journaldType{}, component.StabilityLevelAlpha), eventLogs()); err != nil {
		return made, err
	}
	if made.Processors, err = otelcol.MakeFactoryMap[processor.Factory](memorylimiterprocessor.NewFactory(),
		k8sattributesprocessor.NewFactory(), resourceprocessor.NewFactory(), transformprocessor.NewFactory()); err != nil {
		return made, err
	}
	if made.Exporters, err = otelcol.MakeFactoryMap[exporter.Factory](otlphttpexporter.NewFactory()); err != nil {
		return made, err
	}
	made.Telemetry = otelconftelemetry.NewFactory()
	made.Extensions, err = otelcol.MakeFactoryMap[extension.Factory](filestorage.NewFactory(), sigv4authextension.NewFactory(),
		azureAuthentication())
	return made, err
}

func main() {
	settings := otelcol.CollectorSettings{
		BuildInfo: component.BuildInfo{Command: "otelcol", Version: "0.159.0"},
		Factories: factories,
		ConfigProviderSettings: otelcol.ConfigProviderSettings{ResolverSettings: confmap.ResolverSettings{
			ProviderFactories: []confmap.ProviderFactory{
				providerFactory("file", os.ReadFile), providerFactory("env", variable),
			},
			DefaultScheme: "env",
		}},
	}
	if err := otelcol.NewCommand(settings).Execute(); err != nil {
		os.Exit(1)
	}
}
