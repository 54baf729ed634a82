import * as pulumi from "@pulumi/pulumi";
import * as tls from "@pulumi/tls";
import type { ApiClient } from "../gates/apiProbe.ts";
import { adminClient, apiUrl, type ClusterArgs, ControlPlane } from "../gates/controlPlane.ts";
import type { MayStart } from "../gates/startGate.ts";
import { azureCloudConfig } from "../kubernetes/addOns/cloudController.ts";
import { zoneAt } from "../model/addressPlan.ts";
import { ccgSecrets } from "../model/cloudFacts/identities.ts";
import type { ClusterResources, ClusterSpec } from "../model/clusterSpec.ts";
import type { ServiceAccountTokens } from "../model/keyLists.ts";
import { clusterPki, type Pki } from "../pki/pki.ts";
import { ControlPlaneMachine } from "./controlPlaneMachine.ts";
import { ExistingNetwork } from "./existingNetwork.ts";
import { LoadBalancer } from "./loadBalancer.ts";
import { type ClusterNetwork, Network, type NetworkArgs, resourceGroupName } from "./network.ts";
import { Pool, type PoolSurroundings } from "./pool.ts";
import { controllerGrants, diskGrants, Identity, rightOnEach } from "./roles.ts";
import { Secrets } from "./secrets.ts";
import { Security, securityGroupName } from "./security.ts";
import { Snapshots } from "./snapshots.ts";
import { logGrant, WorkloadIdentity } from "./workloadIdentity.ts";

/** The identity that reads the secrets of gMSA accounts. */
interface GmsaIdentity {
  readonly id: pulumi.Output<string>;
  /** Its roles, and the controllers' right to assign it to machines. */
  readonly ready: readonly pulumi.Resource[];
  readonly principalId: pulumi.Output<string>;
}

interface ControlPlaneParts {
  readonly network: ClusterNetwork;
  readonly identity: Identity;
  readonly secrets: Secrets;
  readonly balancer: LoadBalancer;
  readonly sshKey: pulumi.Output<string>;
  readonly tokens: pulumi.Output<ServiceAccountTokens> | undefined;
}

/** A cluster's machines on Azure, with network, rights, secrets, load balancers, control plane and pools. */
export class Cluster extends pulumi.ComponentResource {
  /** API host for nodes: the internal load balancer. */
  readonly host: string;
  /** API host for people and the deployer, with a public load balancer. */
  readonly publicHost: pulumi.Output<string> | undefined;
  readonly pki: Pki;
  /** The administrator's API client for gates. Secret. */
  readonly api: pulumi.Output<ApiClient>;
  readonly apiGate: pulumi.Resource;
  readonly resources: ClusterResources<pulumi.Output<string>>;
  readonly pools: readonly Pool[];
  /** The controllers' Azure settings: `azure.json`. */
  readonly cloudConfig: pulumi.Output<string>;
  /** Object id of the identity that reads gMSA accounts' secrets, if a pool has the plug-in. */
  readonly gmsaObjectId: pulumi.Output<string> | undefined;

  readonly workloadIdentity: WorkloadIdentity | undefined;

  readonly #name: string;
  readonly #spec: ClusterSpec;
  readonly #mayStart: MayStart | undefined;

  constructor(name: string, args: ClusterArgs, opts?: pulumi.ComponentResourceOptions) {
    super("fenestra:azure:Cluster", name, {}, opts);
    this.#name = name;
    this.#spec = args.spec;
    this.#mayStart = args.mayStart;
    const pki = clusterPki(`${name}-pki`, args.spec, this);
    this.pki = pki;
    const sshKey = this.#makeSshKey();
    const network = this.#makeNetwork();
    const { security } = network;
    const identity = this.#makeControlPlaneIdentity(network);
    network.grantControllers?.(identity.principalId);
    const secrets = this.#makeSecrets(network, identity, pki, args.credentials);
    const balancer = this.#makeLoadBalancer(network);
    this.host = balancer.host;
    this.publicHost = balancer.publicHost;
    this.cloudConfig = this.#makeCloudConfig(network, identity);
    this.api = adminClient(apiUrl(this.publicHost ?? this.host), pki);
    this.workloadIdentity = this.#makeWorkloadIdentity(pki, network, identity);
    const tokens = pki.tokens(this.workloadIdentity?.issuer);
    this.apiGate = this.#makeControlPlane({ network, identity, secrets, balancer, sshKey, tokens }).apiGate;
    const gmsa = this.#makeGmsa(network, identity);
    this.gmsaObjectId = gmsa?.principalId;
    const surroundings = {
      subscriptionId: network.resourceGroup.subscriptionId,
      resourceGroup: network.resourceGroup.name,
      subnetIds: Object.fromEntries(network.zones.map((zone) => [zone.zone, zone.private.id])),
      ...security.workers,
      joinVault: secrets.joinVault,
      ...(secrets.credentialsId !== undefined && { credentialsId: secrets.credentialsId }),
      controllerId: identity.principalId,
      sshKey,
      ...(gmsa !== undefined && { gmsaIdentityId: gmsa.id }),
    };
    const after = [this.apiGate, ...network.egress, ...security.rules, secrets.join];
    this.pools = this.#makePools(surroundings, after, gmsa?.ready ?? []);
    this.resources = {
      network: {
        id: network.networkId,
        subnets: Object.fromEntries(
          network.zones.map(({ zone, private: workers, controlPlane: machines }) => [
            zone,
            { private: workers.id, controlPlane: machines.id },
          ]),
        ),
      },
      securityGroups: security.ids,
      identities: {
        controlPlane: identity.id,
        pools: Object.fromEntries(this.pools.map((pool) => [pool.spec.name, pool.identityId])),
      },
      loadBalancers: balancer.ids,
    };
    this.registerOutputs({ host: this.host, publicHost: this.publicHost });
  }

  #makeNetwork(): ClusterNetwork {
    const [name, spec] = [`${this.#name}-network`, this.#spec];
    const { existing } = spec.network;
    const secure: NetworkArgs["secure"] = (resourceGroup) =>
      new Security(`${this.#name}-security`, { spec, resourceGroup }, { parent: this });
    return existing === undefined
      ? new Network(name, { spec, secure }, { parent: this })
      : new ExistingNetwork(name, { spec, existing, secure }, { parent: this });
  }

  /** Azure requires a key or password for every Linux machine; no port is open for either. */
  #makeSshKey(): pulumi.Output<string> {
    return new tls.PrivateKey(`${this.#name}-ssh-key`, { algorithm: "ED25519" }, { parent: this }).publicKeyOpenssh;
  }

  #makeControlPlaneIdentity(network: ClusterNetwork): Identity {
    return new Identity(
      `${this.#name}-control-plane-identity`,
      {
        resourceGroup: network.resourceGroup,
        grants: { ...controllerGrants(network.resourceGroup, this.#spec), ...diskGrants(this.#spec) },
      },
      { parent: this },
    );
  }

  /**
   * All pools share one identity for gMSA accounts' secrets: a credential specification names it and holds for the
   * whole cluster. It exists only where a pool has the plug-in.
   */
  #makeGmsa({ resourceGroup }: ClusterNetwork, { principalId }: Identity): GmsaIdentity | undefined {
    const { pools, addons } = this.#spec;
    const secrets = ccgSecrets(addons.gmsa);
    if (secrets.length === 0 || !pools.some((pool) => pool.os === "windows" && pool.ccgPlugin)) return undefined;
    const name = `${this.#name}-gmsa`;
    const grants = rightOnEach(name, "read", "keyVaultSecretsUser", secrets);
    const identity = new Identity(name, { resourceGroup, grants }, { parent: this });
    const controllers = { principalId, subscriptionId: resourceGroup.subscriptionId };
    const handedOn = identity.letAssign(`${name}-controllers`, controllers, this);
    return { id: identity.id, principalId: identity.principalId, ready: [handedOn, ...identity.roles] };
  }

  #makeSecrets(
    network: ClusterNetwork,
    controlPlane: Identity,
    pki: Pki,
    credentials: pulumi.Output<string> | undefined,
  ): Secrets {
    return new Secrets(
      `${this.#name}-secrets`,
      {
        spec: this.#spec,
        resourceGroup: network.resourceGroup,
        pki,
        controlPlane,
        controlPlaneSubnetIds: network.zones.map((zone) => zone.controlPlane.id),
        workerSubnetIds: network.zones.map((zone) => zone.private.id),
        credentials,
      },
      { parent: this },
    );
  }

  #makeWorkloadIdentity(
    pki: Pki,
    { resourceGroup }: ClusterNetwork,
    { tenantId }: Identity,
  ): WorkloadIdentity | undefined {
    const { workloadIdentity: settings, addons } = this.#spec;
    if (settings === undefined) return undefined;
    const azureMonitor = addons.logs?.azureMonitor;
    const addOns = azureMonitor === undefined ? {} : { addOns: [logGrant(azureMonitor)] };
    return new WorkloadIdentity(
      `${this.#name}-workload-identity`,
      { spec: this.#spec, settings, publicKeys: pki.serviceAccountPublicKeys, resourceGroup, tenantId, ...addOns },
      { parent: this },
    );
  }

  #makeLoadBalancer(network: ClusterNetwork): LoadBalancer {
    return new LoadBalancer(
      `${this.#name}-api`,
      {
        spec: this.#spec,
        resourceGroup: network.resourceGroup,
        networkId: network.networkId,
        subnetId: zoneAt(network.zones).controlPlane.id,
        after: network.egress,
      },
      { parent: this },
    );
  }

  #makeCloudConfig(network: ClusterNetwork, identity: Identity): pulumi.Output<string> {
    const { name: cluster, region: location } = this.#spec;
    return pulumi
      .all([identity.tenantId, network.resourceGroup.subscriptionId, identity.clientId])
      .apply(([tenantId, subscriptionId, identityClientId]) =>
        azureCloudConfig({
          tenantId,
          subscriptionId,
          resourceGroup: resourceGroupName(this.#spec),
          location,
          ...network.names,
          securityGroupName: securityGroupName(cluster, "workers"),
          identityClientId,
          tagsMap: this.#spec.tags,
        }),
      );
  }

  #makeControlPlane({ network, identity, secrets, balancer, sshKey, tokens }: ControlPlaneParts): ControlPlane {
    const subnetIds = network.zones.map((zone) => zone.controlPlane.id);
    const snapshots = new Snapshots(
      `${this.#name}-snapshots`,
      { spec: this.#spec, resourceGroup: network.resourceGroup, controlPlane: identity, subnetIds },
      { parent: this },
    );
    const { caVault, joinVault, credentialsId } = secrets;
    const common = {
      resourceGroup: network.resourceGroup,
      endpoint: balancer.endpoint,
      tokens,
      group: network.security.controlPlane,
      poolIds: balancer.poolIds,
      identityId: identity.id,
      access: {
        clientId: identity.clientId,
        caVault,
        joinVaultName: joinVault.vault.name,
        credentialsId,
        snapshots: snapshots.containerUrl,
      },
      sshKey,
      after: [
        ...network.egress,
        ...network.security.rules,
        ...secrets.controlPlane,
        secrets.join,
        ...identity.roles,
        ...snapshots.ready,
        ...balancer.ready,
      ],
    };
    return new ControlPlane(
      `${this.#name}-control-plane`,
      {
        spec: this.#spec,
        api: this.api,
        subnetIds,
        reachable: balancer.ready,
        mayStart: this.#mayStart,
        makeMachine: (name, own, opts) => new ControlPlaneMachine(name, { ...common, ...own }, opts),
      },
      { parent: this },
    );
  }

  #makePools(
    surroundings: PoolSurroundings,
    after: readonly pulumi.Resource[],
    gmsa: readonly pulumi.Resource[],
  ): readonly Pool[] {
    return this.#spec.pools.map((pool) => {
      const needed = pool.os === "windows" && pool.ccgPlugin ? [...after, ...gmsa] : after;
      return new Pool(
        `${this.#name}-pool-${pool.name}`,
        { ...surroundings, spec: this.#spec, pool, api: this.api, after: needed, mayStart: this.#mayStart },
        { parent: this },
      );
    });
  }
}
