import { Provider } from "@pulumi/kubernetes/provider.js";
import * as pulumi from "@pulumi/pulumi";
import * as tls from "@pulumi/tls";
import { type ApiClient, askApi, Refused } from "../gates/apiProbe.ts";
import { policyGate } from "../gates/policyGate.ts";
import { type AskRoll, type PoolRoll, poolGate, type SentGroup } from "../gates/poolGate.ts";
import { accountKey, environmentNames } from "../model/cloudFacts/identities.ts";
import type { ClusterSpec } from "../model/clusterSpec.ts";
import { messageOf } from "../model/messages.ts";
import { logsAccount } from "../model/nodeSettings.ts";
import type { PoolSpec } from "../model/pools.ts";
import { AddOn } from "./addOn.ts";
import type { AddOnEntry, InClusterValues, ServerCertificate } from "./addOnEntry.ts";
import { addOnOrder, type RenderedAddOn } from "./addOnList.ts";
import { cloudController } from "./addOns/cloudController.ts";
import { gmsaWebhookHost } from "./addOns/gmsa.ts";
import { networking } from "./addOns/networking.ts";
import { environmentsExpression, type PodEnvironments } from "./addOns/workloadIdentity.ts";

interface WorkerPool {
  readonly spec: PoolSpec;
  /** What makes and replaces its machines. */
  readonly group: pulumi.Resource;
  /** Fingerprint of the payload, see `fingerprinted`. */
  readonly fingerprint: pulumi.Input<string>;
  readonly sent: SentGroup;
  readonly roll: PoolRoll;
}

/** Add-ons without which no node gets Ready. */
const joiningAddOns = [networking, cloudController];

export interface InClusterArgs extends Pick<InClusterValues, "podNetworkManifests"> {
  readonly spec: ClusterSpec;
  /** Kubeconfig of an administrator; marked as secret here in any case. */
  readonly kubeconfig: pulumi.Input<string>;
  readonly api: pulumi.Input<ApiClient>;
  /** Such as a hash of the CA: only a change of it replaces the provider and all objects. */
  readonly clusterIdentifier: pulumi.Input<string>;
  /** A resource that exists once the Kubernetes API answers. */
  readonly apiGate: pulumi.Resource;
  /** System objects do not wait for them, or the first `up` could not end: nodes are Ready only with a network. */
  readonly pools: readonly WorkerPool[];
  /** Host name of the internal API endpoint, for agents that start before the `kubernetes` Service is reachable. */
  readonly nodeEndpoint: pulumi.Input<string>;
  /** Content of `azure.json`. Required on Azure with the cloud controller, unused elsewhere. */
  readonly cloudConfig?: pulumi.Input<string>;
  /** As in `InClusterValues`. */
  readonly gmsaObjectId?: pulumi.Input<string> | undefined;
  /** Rights in the cloud for pods, as in `InClusterValues`. */
  readonly workloadIdentity?: PodIdentities | undefined;
}

interface PodIdentities {
  readonly environments: pulumi.Output<PodEnvironments>;
  readonly sampleUrl: pulumi.Output<string> | undefined;
}

export class InCluster extends pulumi.ComponentResource {
  readonly provider: Provider;

  readonly #name: string;
  readonly #args: InClusterArgs;
  readonly #addOns = new Map<AddOnEntry, AddOn>();

  constructor(name: string, args: InClusterArgs) {
    super("fenestra:kubernetes:InCluster", name);
    this.#name = name;
    this.#args = args;
    this.provider = new Provider(
      `${name}-provider`,
      {
        kubeconfig: previewKubeconfig(args.kubeconfig, args.api),
        clusterIdentifier: args.clusterIdentifier,
        enableServerSideApply: true,
        // Objects of an interrupted update are in the cluster and not in the state. Without this the next update stops
        // at each: `deployments.apps "x" already exists`. By its unique name every object here is Fenestra's.
        upsertExistingObjects: true,
        // An update takes fields from others: from the random names of states made before `withFieldManager`, and from
        // whoever edited an object by hand. None of these objects has what a controller writes: a scaled Deployment has
        // no `replicas`.
        enablePatchForce: true,
        // By default a changed one is deleted and created again, and pods that start in between fail
        // (pulumi/pulumi-kubernetes: provider/diff.go).
        enableConfigMapMutable: true,
        enableSecretMutable: true,
      },
      { parent: this, dependsOn: [args.apiGate] },
    );

    const values = {
      nodeEndpoint: pulumi.output(args.nodeEndpoint),
      podNetworkManifests: args.podNetworkManifests,
      cloudConfig: args.cloudConfig === undefined ? undefined : pulumi.secret(args.cloudConfig),
      gmsaObjectId: args.gmsaObjectId === undefined ? undefined : pulumi.output(args.gmsaObjectId),
      workloadIdentity:
        args.workloadIdentity === undefined
          ? undefined
          : {
              environments: args.workloadIdentity.environments.apply(environmentsExpression),
              sampleUrl: args.workloadIdentity.sampleUrl,
            },
      logIdentity: logIdentity(args),
      gmsaCertificate:
        args.spec.addons.gmsa === undefined
          ? undefined
          : new WebhookCertificate(`${name}-gmsa-webhook`, { host: gmsaWebhookHost }, { parent: this }),
    };
    const plan = addOnOrder(args.spec, values);
    for (const planned of plan.filter(({ entry }) => entry.needsPools !== true)) this.#makeAddOn(planned, []);
    const nodes = this.#makePoolGates();
    for (const planned of plan.filter(({ entry }) => entry.needsPools === true)) this.#makeAddOn(planned, nodes);
    this.registerOutputs();
  }

  #makeAddOn({ entry, manifests }: RenderedAddOn, nodes: readonly pulumi.Resource[]): void {
    const { apiGate, api, clusterIdentifier, spec } = this.#args;
    const addOn = new AddOn(
      `${this.#name}-${entry.name}`,
      {
        manifests,
        after: [apiGate, ...nodes, ...this.#made(entry.after)],
        ...(entry.cleansUp !== true && { deletedWith: apiGate }),
      },
      { parent: this, provider: this.provider },
    );
    const proof = entry.proof?.(spec);
    if (proof !== undefined) {
      // A child, so that whatever waits for the add-on waits for the proof too.
      policyGate(
        `${this.#name}-${entry.name}-in-force`,
        { proof, api, cluster: clusterIdentifier, apiServers: spec.controlPlane.members.length },
        { parent: addOn, dependsOn: [...addOn.objects] },
      );
    }
    this.#addOns.set(entry, addOn);
  }

  /** The gates behind the pools, and the pools: what needs their nodes is deleted before them. */
  #makePoolGates(): readonly pulumi.Resource[] {
    const { spec, pools, api } = this.#args;
    // Loaded when a gate asks: the clouds' clients are large.
    const askRoll: AskRoll = async (id) => await (await import("../gates/account/start.ts")).rollQuestion(spec)(id);
    return pools.flatMap(({ spec: pool, group, fingerprint, roll, sent }) => {
      if (!pool.waitForNodes) return [group];
      const gate = poolGate(
        `${this.#name}-pool-${pool.name}`,
        { release: spec.kubernetes.version, pool, fingerprint, sent, askRoll, roll, api },
        { parent: this, dependsOn: [group, ...this.#made(joiningAddOns)] },
      );
      return [group, gate];
    });
  }

  #made(entries: readonly AddOnEntry[]): readonly AddOn[] {
    return entries.flatMap((entry) => this.#addOns.get(entry) ?? []);
  }
}

function logIdentity({ spec, workloadIdentity }: InClusterArgs): InClusterValues["logIdentity"] {
  if (spec.addons.logs?.[spec.facts.access.logs] === undefined) return undefined;
  if (workloadIdentity === undefined) throw new RangeError("the collectors of logs need an identity");
  const own = workloadIdentity.environments.apply((all) => all[accountKey(logsAccount)] ?? {});
  return Object.fromEntries(
    environmentNames(spec.cloud).map((name) => [name, own.apply((variables) => variables[name] ?? "")]),
  );
}

const hoursPerYear = 365 * 24;
const keyType = { algorithm: "ECDSA", ecdsaCurve: "P256" } as const;

interface WebhookCertificateArgs {
  /** Host name by which the API server calls the webhook: `<service>.<namespace>.svc`. */
  readonly host: string;
}

/**
 * A server certificate for a webhook, of a separate authority, so that no certificate manager is needed. An update in
 * its second, last year renews it.
 */
class WebhookCertificate extends pulumi.ComponentResource implements ServerCertificate {
  readonly certificate: pulumi.Output<string>;
  readonly key: pulumi.Output<string>;
  readonly caBundle: pulumi.Output<string>;

  constructor(name: string, args: WebhookCertificateArgs, options: pulumi.ComponentResourceOptions) {
    super("fenestra:kubernetes:WebhookCertificate", name, {}, options);
    const parent = { parent: this };
    const authorityKey = new tls.PrivateKey(`${name}-ca-key`, keyType, parent);
    const authority = new tls.SelfSignedCert(
      `${name}-ca`,
      {
        privateKeyPem: authorityKey.privateKeyPem,
        subject: { commonName: `${name}-ca` },
        isCaCertificate: true,
        validityPeriodHours: 10 * hoursPerYear,
        allowedUses: ["cert_signing", "digital_signature"],
      },
      parent,
    );
    const key = new tls.PrivateKey(`${name}-key`, keyType, parent);
    const request = new tls.CertRequest(
      `${name}-request`,
      { privateKeyPem: key.privateKeyPem, subject: { commonName: args.host }, dnsNames: [args.host] },
      parent,
    );
    const certificate = new tls.LocallySignedCert(
      `${name}-certificate`,
      {
        certRequestPem: request.certRequestPem,
        caPrivateKeyPem: authorityKey.privateKeyPem,
        caCertPem: authority.certPem,
        validityPeriodHours: 2 * hoursPerYear,
        earlyRenewalHours: hoursPerYear,
        allowedUses: ["digital_signature", "server_auth"],
      },
      parent,
    );
    this.certificate = certificate.certPem;
    this.key = key.privateKeyPem;
    this.caBundle = authority.certPem.apply((pem) => Buffer.from(pem, "utf8").toString("base64"));
    this.registerOutputs();
  }
}

/** Of no cluster: the provider has nobody to ask. */
export const noCluster = JSON.stringify({ apiVersion: "v1", kind: "Config" });

/**
 * The provider's kubeconfig; in a preview to which the API does not answer, one of no cluster. Of admission policies the
 * provider does not know by itself whether they have a namespace: it asks for each of them twice, one after the other,
 * half a minute each (pulumi/pulumi-kubernetes v4.32.0: provider/pkg/clients, IsNamespacedKind). What a preview says of
 * objects is by their inputs in any case.
 */
function previewKubeconfig(kubeconfig: pulumi.Input<string>, api: pulumi.Input<ApiClient>): pulumi.Output<string> {
  if (!pulumi.runtime.isDryRun() || isRecorded()) return pulumi.secret(kubeconfig);
  const known = pulumi.all([kubeconfig, api]).apply(async ([text, client]) => {
    const problem = await routeProblem(client);
    if (problem === undefined) return text;
    void pulumi.log.warn(
      `The Kubernetes API does not answer (${client.server}: ${problem}), so this preview compares its objects with the last update alone and shows the kubeconfig of their provider as changed, which it is not.`,
    );
    return noCluster;
  });
  return pulumi.secret(known);
}

/** Why there is no answer, or `undefined`: a refusal is one. */
async function routeProblem(api: ApiClient): Promise<string | undefined> {
  try {
    await askApi(api, "/version");
    return undefined;
  } catch (error) {
    return error instanceof Refused ? undefined : messageOf(error);
  }
}

/** A plan asks nobody: its monitor is no connection to an engine. */
function isRecorded(): boolean {
  const monitor: unknown = pulumi.runtime.getMonitor();
  return typeof monitor !== "object" || monitor === null || !("getChannel" in monitor);
}
