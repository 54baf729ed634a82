import { Alias } from "@pulumi/aws/kms/alias.js";
import { Key } from "@pulumi/aws/kms/key.js";
import { Parameter } from "@pulumi/aws/ssm/parameter.js";
import * as pulumi from "@pulumi/pulumi";
import type { ControlPlaneSecrets, WorkerSecrets } from "../machine/cloudAccess.ts";
import type { ClusterSpec } from "../model/clusterSpec.ts";
import { encryptionSecret, secretPlaceholder } from "../model/keyLists.ts";
import { hasCredentials, type NodeSettings } from "../model/nodeSettings.ts";
import { controlPlaneKeys, type Pki } from "../pki/pki.ts";
import { theirs } from "./owners.ts";

interface SecretsArgs {
  readonly spec: Pick<ClusterSpec, "name" | "environment">;
  readonly pki: Pki;
  /** Logins for what machines fetch, if any. */
  readonly credentials?: pulumi.Output<string> | undefined;
}

/**
 * Parameter Store: the control plane's keys, and the two entries that its machines write. One customer key encrypts
 * them; policies bind its use to single parameters, which an AWS managed key does not allow.
 */
export class Secrets extends pulumi.ComponentResource {
  readonly keyArn: pulumi.Output<string>;
  /** What must exist before a control-plane machine boots. */
  readonly controlPlane: readonly Parameter[];
  /** The previous release's join secret, written by the control plane. */
  readonly join: Parameter;
  /** What must exist before any machine boots: logins, if any. */
  readonly credentials: readonly Parameter[];

  readonly #name: string;

  constructor(name: string, args: SecretsArgs, opts?: pulumi.ComponentResourceOptions) {
    super("fenestra:aws:Secrets", name, {}, opts);
    this.#name = name;
    const { spec, pki } = args;
    const key = this.#makeKey(spec);
    this.keyArn = key.arn;
    const names = controlPlaneParameters(spec.name);
    const fixed = [
      ...controlPlaneKeys(pki).map(([role, value]) =>
        this.#makeFixed(role.replaceAll(/[A-Z]/g, "-$&").toLowerCase(), names[role], value, key),
      ),
      ...pki.encryptionKeys.map(([own, value]) =>
        this.#makeFixed(
          encryptionSecret("encryption-key", own),
          encryptionSecret(names.encryptionKey, own),
          value,
          key,
        ),
      ),
    ];
    const written = (role: string, parameter: string): Parameter =>
      writtenParameter(`${name}-${role}`, parameter, key.arn, { parent: this });
    this.controlPlane = [...fixed, written("initialised", names.initialised)];
    this.join = written("join", joinParameter(spec.name));
    this.credentials =
      args.credentials === undefined
        ? []
        : [this.#makeFixed("credentials", credentialsParameter(spec.name), args.credentials, key)];
    this.registerOutputs({ keyArn: this.keyArn });
  }

  #makeKey(spec: SecretsArgs["spec"]): Key {
    const key = new Key(
      `${this.#name}-key`,
      {
        description: `Secrets of the cluster ${spec.name}`,
        enableKeyRotation: true,
        deletionWindowInDays: spec.environment === "production" ? 30 : 7,
        tags: { Name: `${this.#name}-key` },
      },
      { parent: this },
    );
    new Alias(`${this.#name}-key`, { name: `alias/fenestra-${spec.name}`, targetKeyId: key.keyId }, { parent: this });
    return key;
  }

  /**
   * A parameter that only the program writes. Another value makes another parameter: an update in place leaves the key
   * out, and Parameter Store then takes the account's (`resourceParameterUpdate` in the file below; AWS Systems Manager
   * API Reference, PutParameter, `KeyId`). Machines that read in between try again. AWS wants 30 seconds between
   * deletion and creation (DeleteParameter), for which the provider does not wait (`TestAccSSMParameter_tier`): after a
   * refusal the next update makes it. `overwrite` would also write over another cluster's keys.
   */
  #makeFixed(role: string, name: string, value: pulumi.Output<string>, key: Key): Parameter {
    return new Parameter(
      `${this.#name}-${role}`,
      { name, type: "SecureString", tier: "Standard", keyId: key.arn, value: pulumi.secret(value) },
      { parent: this, replaceOnChanges: ["value"], deleteBeforeReplace: true },
    );
  }
}

/**
 * A parameter that machines write, a resource so that destroying the stack removes it. Only its tags are ever updated:
 * the provider writes a whole parameter, with the placeholder in its state as value (hashicorp/terraform-provider-aws,
 * internal/service/ssm/parameter.go). The next machine that writes it names the current key.
 */
export function writtenParameter(
  resource: string,
  name: string,
  keyId: pulumi.Input<string>,
  opts: pulumi.CustomResourceOptions,
): Parameter {
  return new Parameter(
    resource,
    { name, type: "SecureString", tier: "Standard", keyId, value: pulumi.secret(secretPlaceholder) },
    { ...opts, ignoreChanges: theirs("aws:ssm/parameter:Parameter") },
  );
}

/** Name of the parameter with a pool's join secret; without a pool, with the previous release's. */
export function joinParameter(cluster: string, pool?: string): string {
  return `/fenestra/${cluster}/join${pool === undefined ? "" : `/${pool}`}`;
}

/**
 * Name of the parameter with logins for what machines fetch. It exists if a stack has any; workers and the control
 * plane read it.
 */
function credentialsParameter(cluster: string): string {
  return `/fenestra/${cluster}/credentials`;
}

export function workerParameters(
  { name, credentials }: Pick<NodeSettings, "name" | "credentials">,
  pool?: string,
): WorkerSecrets {
  return {
    joinSecret: joinParameter(name, pool),
    ...(hasCredentials(credentials) && { credentials: credentialsParameter(name) }),
  };
}

export function controlPlaneParameters(cluster: string): ControlPlaneSecrets {
  const at = (name: string) => `/fenestra/${cluster}/control-plane/${name}`;
  return {
    kubernetesCa: at("kubernetes-ca"),
    etcdCa: at("etcd-ca"),
    frontProxyCa: at("front-proxy-ca"),
    serviceAccount: at("service-account"),
    encryptionKey: at("encryption-key"),
    initialised: at("initialised"),
  };
}
