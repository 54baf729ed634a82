import * as pulumi from "@pulumi/pulumi";
import type { ApiClient } from "../gates/apiProbe.ts";
import { adminClient, apiUrl, type ClusterArgs, ControlPlane } from "../gates/controlPlane.ts";
import type { MayStart } from "../gates/startGate.ts";
import { scriptsObject } from "../machine/bundle.ts";
import { controlPlaneScripts } from "../machine/linux/controlPlane.ts";
import type { WorkerPayload } from "../machine/payload.ts";
import type { ClusterResources, ClusterSpec } from "../model/clusterSpec.ts";
import { encryptionSecret, type ServiceAccountTokens } from "../model/keyLists.ts";
import type { PoolSpec } from "../model/pools.ts";
import { clusterPki, type Pki } from "../pki/pki.ts";
import { ControlPlaneMachine } from "./controlPlaneMachine.ts";
import { ExistingNetwork } from "./existingNetwork.ts";
import { LoadBalancer } from "./loadBalancer.ts";
import { type ClusterNetwork, Network } from "./network.ts";
import {
  autoscalerPolicy,
  cloudControllerPolicy,
  controlPlanePolicy,
  ebsDriverPolicy,
  scriptsArn,
} from "./policies.ts";
import type { PolicyScope } from "./policyDocument.ts";
import { Pool, type PoolSurroundings, poolPayload } from "./pool.ts";
import { type MachineScripts, Scripts } from "./scripts.ts";
import { controlPlaneParameters, Secrets, workerParameters } from "./secrets.ts";
import { Security } from "./security.ts";
import { Snapshots } from "./snapshots.ts";
import { Identity, Logs, WorkloadIdentity } from "./workloadIdentity.ts";

interface PoolMachines {
  readonly pool: PoolSpec;
  readonly payload: WorkerPayload;
  readonly scripts: MachineScripts;
}

interface ClusterScripts {
  readonly controlPlane: MachineScripts;
  readonly pools: readonly PoolMachines[];
  /** What must exist before a machine fetches them. */
  readonly ready: readonly pulumi.Resource[];
}

interface ControlPlaneParts {
  readonly network: ClusterNetwork;
  readonly security: Security;
  readonly secrets: Secrets;
  readonly balancer: LoadBalancer;
  readonly identity: Identity;
  readonly snapshots: Snapshots;
  readonly scripts: ClusterScripts;
  readonly tokens: pulumi.Output<ServiceAccountTokens> | undefined;
}

/** A cluster's machines on AWS, with network, rights, secrets, load balancers, control plane and pools. */
export class Cluster extends pulumi.ComponentResource {
  /** API host for nodes: the internal load balancer. */
  readonly host: pulumi.Output<string>;
  /** API host for people and the deployer, with a public load balancer. */
  readonly publicHost: pulumi.Output<string> | undefined;
  readonly pki: Pki;
  /** The administrator's API client for gates. Secret. */
  readonly api: pulumi.Output<ApiClient>;
  readonly apiGate: pulumi.Resource;
  readonly resources: ClusterResources<pulumi.Output<string>>;
  readonly pools: readonly Pool[];

  readonly workloadIdentity: WorkloadIdentity | undefined;

  readonly #name: string;
  readonly #spec: ClusterSpec;
  readonly #mayStart: MayStart | undefined;

  constructor(name: string, args: ClusterArgs, opts?: pulumi.ComponentResourceOptions) {
    super("fenestra:aws:Cluster", name, {}, opts);
    this.#name = name;
    this.#spec = args.spec;
    this.#mayStart = args.mayStart;
    const pki = clusterPki(`${name}-pki`, args.spec, this);
    this.pki = pki;
    const network = this.#makeNetwork();
    const security = new Security(`${name}-security`, { spec: args.spec, vpcId: network.vpcId }, { parent: this });
    const secrets = new Secrets(
      `${name}-secrets`,
      { spec: args.spec, pki, credentials: args.credentials },
      { parent: this },
    );
    const balancer = this.#makeLoadBalancer(network, security);
    this.host = balancer.host;
    this.publicHost = balancer.publicHost;
    this.api = adminClient(apiUrl(this.publicHost ?? this.host), pki);

    // The key is the cluster's own; an existing VPC may belong to another account.
    const accountId = network.accountId ?? secrets.keyArn.apply(accountOf);
    const scope = this.#policyScope(accountId, secrets);
    const scripts = this.#makeScripts();
    this.workloadIdentity = this.#makeWorkloadIdentity(pki);
    const tokens = pki.tokens(this.workloadIdentity?.issuer);
    const snapshots = new Snapshots(`${name}-snapshots`, { spec: args.spec }, { parent: this });
    const identity = this.#makeControlPlaneIdentity(network, snapshots, scope, scripts.controlPlane);
    const parts = { network, security, secrets, balancer, identity, snapshots, scripts, tokens };
    this.apiGate = this.#makeControlPlane(parts).apiGate;
    const surroundings = {
      accountId,
      joinKeyArn: secrets.keyArn,
      subnetIds: Object.fromEntries(network.zones.map((zone) => [zone.zone, zone.private.id])),
      workersGroupId: security.workersGroupId,
      apiHost: this.host,
    };
    this.pools = this.#makePools(scripts.pools, surroundings, [
      this.apiGate,
      ...network.egress,
      ...security.rules,
      secrets.join,
      ...secrets.credentials,
      ...scripts.ready,
    ]);
    this.resources = this.#made(parts);
    this.registerOutputs({ host: this.host, publicHost: this.publicHost });
  }

  #made({ network, security, identity, balancer }: ControlPlaneParts): Cluster["resources"] {
    return {
      network: {
        id: network.vpcId,
        subnets: Object.fromEntries(
          network.zones.map(({ zone, private: workers, public: open, controlPlane: machines }) => [
            zone,
            { private: workers.id, controlPlane: machines.id, ...(open !== undefined && { public: open.id }) },
          ]),
        ),
      },
      securityGroups: { controlPlane: security.controlPlaneGroupId, workers: security.workersGroupId },
      identities: {
        controlPlane: identity.roleArn,
        pools: Object.fromEntries(
          this.pools.flatMap(({ spec, identityId }) => (identityId === undefined ? [] : [[spec.name, identityId]])),
        ),
      },
      loadBalancers: balancer.ids,
    };
  }

  #makeNetwork(): ClusterNetwork {
    const [name, spec] = [`${this.#name}-network`, this.#spec];
    const { existing } = spec.network;
    return existing === undefined
      ? new Network(name, { spec }, { parent: this })
      : new ExistingNetwork(name, { spec, existing }, { parent: this });
  }

  #makeWorkloadIdentity(pki: Pki): WorkloadIdentity | undefined {
    const { workloadIdentity: settings, addons } = this.#spec;
    if (settings === undefined) return undefined;
    const cloudwatch = addons.logs?.cloudwatch;
    const logs =
      cloudwatch === undefined
        ? undefined
        : new Logs(`${this.#name}-logs`, { spec: this.#spec, settings: cloudwatch }, { parent: this });
    return new WorkloadIdentity(
      `${this.#name}-workload-identity`,
      {
        spec: this.#spec,
        settings,
        publicKeys: pki.serviceAccountPublicKeys,
        ...(logs !== undefined && { addOns: [logs.grant] }),
      },
      { parent: this },
    );
  }

  #makeLoadBalancer(network: ClusterNetwork, security: Security): LoadBalancer {
    return new LoadBalancer(
      `${this.#name}-api`,
      {
        spec: this.#spec,
        vpcId: network.vpcId,
        privateSubnetIds: network.zones.map((zone) => zone.private.id),
        publicSubnetIds: network.zones.flatMap((zone) => (zone.public === undefined ? [] : [zone.public.id])),
        internet: network.internet,
        internalGroupId: security.internalApiGroupId,
        publicGroupId: security.publicApiGroupId,
      },
      { parent: this },
    );
  }

  #policyScope(account: pulumi.Output<string>, secrets: Secrets): pulumi.Output<PolicyScope> {
    const { name: cluster, region } = this.#spec;
    return pulumi
      .all([account, secrets.keyArn])
      .apply(([accountId, keyArn]) => ({ cluster, region, accountId, keyArn }));
  }

  #makeControlPlane({
    network,
    security,
    secrets,
    balancer,
    identity,
    snapshots,
    scripts,
    tokens,
  }: ControlPlaneParts): ControlPlane {
    const common = {
      endpoint: balancer.endpoint,
      tokens,
      groupId: security.controlPlaneGroupId,
      profileArn: identity.profileArn,
      secretsKeyArn: secrets.keyArn,
      snapshotBucket: snapshots.bucketName,
      scripts: scripts.controlPlane,
      after: [
        ...network.egress,
        ...security.rules,
        ...secrets.controlPlane,
        secrets.join,
        ...secrets.credentials,
        ...identity.ready,
        ...balancer.ready,
        ...scripts.ready,
        // Where an account forbids public buckets, the update fails before it replaces a machine.
        ...(this.workloadIdentity?.ready ?? []),
      ],
    };
    return new ControlPlane(
      `${this.#name}-control-plane`,
      {
        spec: this.#spec,
        api: this.api,
        subnetIds: network.zones.map((zone) => zone.controlPlane.id),
        reachable: balancer.ready,
        mayStart: this.#mayStart,
        makeMachine: (name, own, opts) => new ControlPlaneMachine(name, { ...common, ...own }, opts),
      },
      { parent: this },
    );
  }

  #makeControlPlaneIdentity(
    network: ClusterNetwork,
    snapshots: Snapshots,
    scope: pulumi.Output<PolicyScope>,
    scripts: MachineScripts,
  ): Identity {
    const { initialised, encryptionKey, ...fixed } = controlPlaneParameters(this.#spec.name);
    const { joinSecret, ...logins } = workerParameters(this.#spec);
    const encryption = this.#spec.secretsEncryption.keys.map((key) => encryptionSecret(encryptionKey, key));
    const read = [...Object.values(fixed), ...encryption, ...Object.values(logins)];
    const write = [joinSecret, `${joinSecret}/*`, initialised];
    return new Identity(
      `${this.#name}-control-plane-identity`,
      {
        iam: this.#spec.iam,
        policies: {
          machine: pulumi
            .all([scope, snapshots.bucketArn, scripts.bucketArn])
            .apply(([known, bucket, scriptsBucket]) =>
              controlPlanePolicy(
                known,
                { read, write },
                { snapshots: bucket, scripts: scriptsArn(scriptsBucket, "linux") },
              ),
            ),
          "cloud-controller": pulumi
            .all([scope, network.vpcId, network.ownerId])
            .apply(([known, vpcId, ownerId]) => cloudControllerPolicy(known, vpcId, ownerId)),
          "ebs-driver": scope.apply(ebsDriverPolicy),
          autoscaler: scope.apply(autoscalerPolicy),
        },
      },
      { parent: this },
    );
  }

  #makeScripts(): ClusterScripts {
    const controlPlane = scriptsObject(controlPlaneScripts(this.#spec));
    const pools = this.#spec.pools.map((pool) => {
      const payload = poolPayload(this.#spec, pool);
      return { pool, payload, object: scriptsObject(payload) };
    });
    const objects = [controlPlane, ...pools.map(({ object }) => object)];
    const scripts = new Scripts(`${this.#name}-scripts`, { objects }, { parent: this });
    return {
      controlPlane: scripts.of(controlPlane),
      pools: pools.map(({ pool, payload, object }) => ({ pool, payload, scripts: scripts.of(object) })),
      ready: scripts.ready,
    };
  }

  #makePools(
    machines: readonly PoolMachines[],
    surroundings: PoolSurroundings,
    after: readonly pulumi.Resource[],
  ): readonly Pool[] {
    return machines.map(
      (each) =>
        new Pool(
          `${this.#name}-pool-${each.pool.name}`,
          { ...surroundings, ...each, spec: this.#spec, api: this.api, after },
          { parent: this },
        ),
    );
  }
}

/** The account in an ARN: `arn:aws:kms:region:123456789012:key/...`. */
function accountOf(arn: string): string {
  const account = arn.split(":")[4];
  if (account === undefined) throw new RangeError(`${arn} is not an ARN with an account`);
  return account;
}
