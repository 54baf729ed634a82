import { Blob } from "@pulumi/azure-native/storage/blob.js";
import { BlobContainer } from "@pulumi/azure-native/storage/blobContainer.js";
import { StorageAccount } from "@pulumi/azure-native/storage/storageAccount.js";
import * as pulumi from "@pulumi/pulumi";
import * as random from "@pulumi/random";
import type { ClusterSpec } from "../model/clusterSpec.ts";
import { discoveryDocument, discoveryPath, keySet, keySetPath } from "../model/serviceAccountKeys.ts";
import { sampleObjectName, sampleObjectText } from "../model/workloadIdentity.ts";
import { inResourceGroup, type ResourceGroupContext } from "./resourceGroup.ts";
import { storageAccountName, suffixLength } from "./secretNames.ts";

export interface IssuerArgs {
  readonly spec: Pick<ClusterSpec, "name" | "environment">;
  readonly resourceGroup: ResourceGroupContext;
  /** Public keys of service accounts, PEM. */
  readonly publicKeys: pulumi.Input<readonly string[]>;
  /** Whether there is a blob for the sample, in a container that is not public. */
  readonly sample: boolean;
}

/** Containers of the account: everybody may read the blobs of the first. */
const containers = { public: "oidc", private: "private" } as const;

/**
 * The two documents by which a cloud checks tokens of service accounts, in a container whose blobs everybody may read. Whoever can write
 * them can be any service account.
 */
export class Issuer extends pulumi.ComponentResource {
  /** URL of the issuer: claim `iss` of the tokens. It ends without a slash here, in the tokens and in the credentials. */
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
    const account = this.#makeAccount();
    const host = pulumi.interpolate`https://${account.name}.blob.core.windows.net`;
    this.url = pulumi.interpolate`${host}/${containers.public}`;
    const documents = this.#makeContainer(account, "public");
    const keys = pulumi.output(args.publicKeys);
    const discovery = pulumi.all([this.url, keys]).apply(([url, known]) => discoveryDocument(url, known));
    this.ready = [
      this.#put(documents, account, "discovery", discoveryPath, discovery),
      this.#put(documents, account, "keys", keySetPath, keys.apply(keySet)),
    ];
    if (args.sample) {
      const own = this.#makeContainer(account, "private");
      this.#put(own, account, "sample", sampleObjectName, pulumi.output(sampleObjectText), "text/plain");
      this.sample = { scope: own.id, url: pulumi.interpolate`${host}/${containers.private}/${sampleObjectName}` };
    }
    this.registerOutputs({ url: this.url });
  }

  #makeAccount(): StorageAccount {
    const { spec, resourceGroup } = this.#args;
    const suffix = new random.RandomString(
      `${this.#name}-suffix`,
      { length: suffixLength, upper: false, special: false },
      { parent: this },
    );
    return new StorageAccount(
      `${this.#name}-account`,
      {
        ...inResourceGroup(resourceGroup),
        accountName: suffix.result.apply((known) => storageAccountName(spec.name, "oidc", known)),
        kind: "StorageV2",
        sku: { name: "Standard_ZRS" },
        allowBlobPublicAccess: true,
        // azure-native writes blobs by the account's key.
        allowSharedKeyAccess: true,
        enableHttpsTrafficOnly: true,
        minimumTlsVersion: "TLS1_2",
        publicNetworkAccess: "Enabled",
      },
      { parent: this, protect: spec.environment === "production" },
    );
  }

  #makeContainer(account: StorageAccount, access: keyof typeof containers): BlobContainer {
    return new BlobContainer(
      `${this.#name}-${access}`,
      {
        resourceGroupName: this.#args.resourceGroup.name,
        accountName: account.name,
        containerName: containers[access],
        // Blob: who knows a blob's name may read it, nobody may list them.
        publicAccess: access === "public" ? "Blob" : "None",
      },
      { parent: this },
    );
  }

  /** A blob whose text changes is replaced: it stays until the new one is written over it, and goes with the account. */
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
