import { FederatedIdentityCredential } from "@pulumi/azure-native/managedidentity/federatedIdentityCredential.js";
import { Blob } from "@pulumi/azure-native/storage/blob.js";
import { BlobContainer } from "@pulumi/azure-native/storage/blobContainer.js";
import type { StorageAccount } from "@pulumi/azure-native/storage/storageAccount.js";
import * as pulumi from "@pulumi/pulumi";
import { untilKnown } from "../gates/waitFor.ts";
import {
  accountKey,
  azureEnvironment,
  identityName,
  type ServiceAccountName,
  sampleAccount,
  sampleObjectName,
  sampleObjectText,
  subjectOf,
  tokenFacts,
} from "../model/cloudFacts/identities.ts";
import type { ClusterSpec } from "../model/clusterSpec.ts";
import { discoveryPath, keySetPath } from "../model/keyLists.ts";
import { type LogSettings, logsAccount } from "../model/nodeSettings.ts";
import { issuerDocuments } from "../pki/pki.ts";
import { digest, type Grant, Identity, notYet, type ResourceGroupContext } from "./roles.ts";
import { keepContent, storageAccount } from "./snapshots.ts";

interface IssuerArgs extends Pick<WorkloadIdentityArgs, "spec" | "resourceGroup" | "publicKeys"> {
  /** Whether there is a blob for the sample, not public. */
  readonly sample: boolean;
}

/** Everybody may read the first one's blobs. */
const containers = { public: "oidc", private: "private" } as const;

/**
 * The two documents by which a cloud checks service accounts' tokens, in a container whose blobs everybody may read.
 * Whoever can write them can be any service account.
 */
class Issuer extends pulumi.ComponentResource {
  /** The tokens' claim `iss`, without a slash at its end here, in tokens and in credentials. */
  readonly url: pulumi.Output<string>;
  /** What must exist before a cloud checks a token. */
  readonly ready: readonly pulumi.Resource[];
  /** Container and URL of the sample's blob. */
  readonly sample: { readonly scope: pulumi.Output<string>; readonly url: pulumi.Output<string> } | undefined;

  readonly #name: string;
  readonly #args: IssuerArgs;

  constructor(name: string, args: IssuerArgs, opts?: pulumi.ComponentResourceOptions) {
    super("fenestra:azure:Issuer", name, {}, opts);
    this.#name = name;
    this.#args = args;
    // azure-native writes blobs by the account's key.
    const access = { allowBlobPublicAccess: true, allowSharedKeyAccess: true };
    const account = storageAccount(name, args, "oidc", access, {}, this);
    keepContent(name, args.resourceGroup, account, this);
    const host = pulumi.interpolate`https://${account.name}.blob.core.windows.net`;
    this.url = pulumi.interpolate`${host}/${containers.public}`;
    const documents = this.#makeContainer(account, "public");
    const { discovery, keySet } = issuerDocuments(this.url, args.publicKeys);
    this.ready = [
      this.#put(documents, account, "discovery", discoveryPath, discovery),
      this.#put(documents, account, "keys", keySetPath, keySet),
    ];
    if (args.sample) {
      const own = this.#makeContainer(account, "private");
      this.#put(own, account, "sample", sampleObjectName, pulumi.output(sampleObjectText), "text/plain");
      this.sample = { scope: own.id, url: pulumi.interpolate`${host}/${containers.private}/${sampleObjectName}` };
    }
    this.registerOutputs({ url: this.url });
  }

  #makeContainer(account: StorageAccount, access: keyof typeof containers): BlobContainer {
    return new BlobContainer(
      `${this.#name}-${access}`,
      {
        resourceGroupName: this.#args.resourceGroup.name,
        accountName: account.name,
        containerName: containers[access],
        // Blob: who knows a name may read it, nobody may list them.
        publicAccess: access === "public" ? "Blob" : "None",
      },
      { parent: this },
    );
  }

  /** A changed blob is replaced: it stays until the new one overwrites it, and goes with the account. */
  #put(
    container: BlobContainer,
    account: StorageAccount,
    role: string,
    blobName: string,
    content: pulumi.Output<string>,
    contentType = "application/json",
  ): Blob {
    return new Blob(
      `${this.#name}-${role}`,
      {
        resourceGroupName: this.#args.resourceGroup.name,
        accountName: account.name,
        containerName: container.name,
        blobName,
        contentType,
        type: "Block",
        source: content.apply((text) => new pulumi.asset.StringAsset(text)),
      },
      { parent: this, retainOnDelete: true },
    );
  }
}

interface WorkloadIdentityArgs {
  readonly spec: Pick<ClusterSpec, "name" | "environment">;
  readonly settings: NonNullable<ClusterSpec["workloadIdentity"]>;
  readonly resourceGroup: ResourceGroupContext;
  readonly tenantId: pulumi.Output<string>;
  /** Public keys of service accounts, PEM. */
  readonly publicKeys: pulumi.Input<readonly string[]>;
  /** Service accounts of add-ons and their roles. */
  readonly addOns?: readonly AddOnGrant[];
}

interface AddOnGrant {
  readonly account: ServiceAccountName;
  readonly roles: readonly Grant[];
}

/** Rights in Azure for pods: an identity for each service account, with a credential for its tokens alone. */
export class WorkloadIdentity extends pulumi.ComponentResource {
  readonly issuer: pulumi.Output<string>;
  /** Client ids of service accounts' identities, by `namespace/name`. */
  readonly identities: pulumi.Output<Readonly<Record<string, string>>>;
  /** Variables of service accounts' pods, by `namespace/name`. */
  readonly environments: pulumi.Output<Readonly<Record<string, Readonly<Record<string, string>>>>>;
  readonly sampleUrl: pulumi.Output<string> | undefined;

  readonly #args: WorkloadIdentityArgs;

  constructor(name: string, args: WorkloadIdentityArgs, opts?: pulumi.ComponentResourceOptions) {
    super("fenestra:azure:WorkloadIdentity", name, {}, opts);
    this.#args = args;
    const { spec, settings, resourceGroup, publicKeys, tenantId } = args;
    const own =
      settings.issuer === undefined
        ? new Issuer(`${name}-issuer`, { spec, resourceGroup, publicKeys, sample: settings.sample }, { parent: this })
        : undefined;
    this.issuer = own?.url ?? pulumi.output(settings.issuer ?? "");
    const sample = own?.sample;
    this.sampleUrl = sample?.url;
    const identities = [
      ...settings.serviceAccounts.map((account) =>
        this.#makeIdentity(
          account,
          account.roles.map(({ role, scope }) => ({ role: { id: role }, scope })),
          own,
        ),
      ),
      ...(args.addOns ?? []).map(({ account, roles }) => this.#makeIdentity(account, roles, own)),
      ...(sample === undefined
        ? []
        : [this.#makeIdentity(sampleAccount, [{ role: "storageBlobDataReader", scope: sample.scope }], own)]),
    ];
    this.identities = pulumi.all(Object.fromEntries(identities));
    this.environments = pulumi
      .all([this.identities, tenantId])
      .apply(([known, tenant]) =>
        Object.fromEntries(Object.entries(known).map(([key, clientId]) => [key, azureEnvironment(tenant, clientId)])),
      );
    this.registerOutputs({ issuer: this.issuer });
  }

  /** One credential each: Azure refuses a second while it writes the first (409). */
  #makeIdentity(
    account: ServiceAccountName,
    roles: readonly Grant[],
    issuer: Issuer | undefined,
  ): readonly [key: string, clientId: pulumi.Output<string>] {
    const { spec, resourceGroup } = this.#args;
    const name = identityName(spec.name, account);
    // Named by content, so that the order is free.
    const grants = roles.map((grant, index) => [
      typeof grant.scope === "string" ? digest(grant) : String(index),
      grant,
    ]);
    const identity = new Identity(name, { resourceGroup, grants: Object.fromEntries(grants) }, { parent: this });
    const credential = `${name}-credential`;
    new FederatedIdentityCredential(
      credential,
      {
        resourceGroupName: resourceGroup.name,
        resourceName: identity.name,
        federatedIdentityCredentialResourceName: "service-account",
        issuer: this.issuer,
        subject: subjectOf(account),
        audiences: [tokenFacts.azure.audience],
      },
      {
        parent: this,
        dependsOn: [...(issuer?.ready ?? [])],
        hooks: { onError: [untilKnown(credential, notYet.identity)] },
      },
    );
    return [accountKey(account), identity.clientId];
  }
}

/**
 * The right to write to a data collection rule only. The rule is the user's: the provider's API version has no rule for
 * OTLP (2022-06-01), and the tables it writes to are mostly shared.
 */
export function logGrant({ dataCollectionRule }: NonNullable<LogSettings["azureMonitor"]>): AddOnGrant {
  return { account: logsAccount, roles: [{ role: "monitoringMetricsPublisher", scope: dataCollectionRule }] };
}
