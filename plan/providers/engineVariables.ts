/** What an engine needs to know of served providers. */
export interface EngineSettings {
  /** Port by package. */
  readonly ports: ReadonlyMap<string, number>;
  /** An empty folder for the state. */
  readonly folder: string;
  /** Encrypts the secrets of the state. */
  readonly passphrase: string;
}

/**
 * The environment that makes the official engine use served providers and a state of its own, as lines for a shell. Without the automatic
 * acquisition of plug-ins it downloads none of those whose place is taken: what is installed or attached is used (pulumi/pulumi v3.260.0,
 * sdk/go/common/env/env.go; pkg/engine/plugins.go goes on without what is missing).
 */
export function engineVariables({ ports, folder, passphrase }: EngineSettings): string {
  const variables = {
    PULUMI_DEBUG_PROVIDERS: [...ports].map(([name, port]) => `${name}:${port}`).join(","),
    PULUMI_BACKEND_URL: `file://${folder}`,
    PULUMI_CONFIG_PASSPHRASE: passphrase,
    PULUMI_DISABLE_AUTOMATIC_PLUGIN_ACQUISITION: "true",
    PULUMI_SKIP_UPDATE_CHECK: "true",
  };
  return Object.entries(variables)
    .map(([name, value]) => `export ${name}=${value}\n`)
    .join("");
}
