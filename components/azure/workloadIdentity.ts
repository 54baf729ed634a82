import { createHash } from "node:crypto";
import { FederatedIdentityCredential } from "@pulumi/azure-native/managedidentity/federatedIdentityCredential.js";
import * as pulumi from "@pulumi/pulumi";
import type { ClusterSpec } from "../model/clusterSpec.ts";
import {
  accountKey,
  azureEnvironment,
  identityName,
  type ServiceAccountName,
  sampleAccount,
  subjectOf,
  tokenFacts,
} from "../model/workloadIdentity.ts";
import { Identity } from "./identity.ts";
import { Issuer } from "./issuer.ts";
import type { ResourceGroupContext } from "./resourceGroup.ts";
import type { Grant } from "./roles.ts";

export interface WorkloadIdentityArgs {
  readonly spec: Pick<ClusterSpec, "name" | "environment">;
  readonly settings: NonNullable<ClusterSpec["workloadIdentity"]>;
  readonly resourceGroup: ResourceGroupContext;
  /** Tenant of the subscription. */
  readonly tenantId: pulumi.Output<string>;
  /** Public keys of service accounts, PEM. */
  readonly publicKeys: pulumi.Input<readonly string[]>;
  /** Service accounts of add-ons and their roles. */
  readonly addOns?: readonly AddOnGrant[];
}

export interface AddOnGrant {
  readonly account: ServiceAccountName;
  readonly roles: readonly Grant[];
}

/** Rights in Azure for pods: an identity for each service account, with a credential for the tokens of this account and no other. */
export class WorkloadIdentity extends pulumi.ComponentResource {
  readonly issuer: pulumi.Output<string>;
  /** Client id of the identity of each service account, by `namespace/name`. */
  readonly identities: pulumi.Output<Readonly<Record<string, string>>>;
  /** Variables of each service account's pods, by `namespace/name`. */
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
      ...(sample === undefined ? [] : [this.#makeIdentity(sampleAccount, [{ role: "storageBlobDataReader", scope: sample.scope }], own)]),
    ];
    this.identities = pulumi.all(Object.fromEntries(identities));
    this.environments = pulumi
      .all([this.identities, tenantId])
      .apply(([known, tenant]) =>
        Object.fromEntries(Object.entries(known).map(([key, clientId]) => [key, azureEnvironment(tenant, clientId)])),
      );
    this.registerOutputs({ issuer: this.issuer });
  }

  /** Each identity has one credential: several of one identity are refused while another one is written (409). */
  #makeIdentity(
    account: ServiceAccountName,
    roles: readonly Grant[],
    issuer: Issuer | undefined,
  ): readonly [key: string, clientId: pulumi.Output<string>] {
    const { spec, resourceGroup } = this.#args;
    const name = identityName(spec.name, account);
    // Named by what they are, so that the order of the list is free.
    const grants = roles.map((grant, index) => [typeof grant.scope === "string" ? digest(grant) : String(index), grant]);
    const identity = new Identity(name, { resourceGroup, grants: Object.fromEntries(grants) }, { parent: this });
    new FederatedIdentityCredential(
      `${name}-credential`,
      {
        resourceGroupName: resourceGroup.name,
        resourceName: identity.name,
        federatedIdentityCredentialResourceName: "service-account",
        issuer: this.issuer,
        subject: subjectOf(account),
        audiences: [tokenFacts.azure.audience],
      },
      { parent: this, dependsOn: [...(issuer?.ready ?? [])] },
    );
    return [accountKey(account), identity.clientId];
  }
}

function digest(grant: Grant): string {
  return createHash("sha256").update(JSON.stringify(grant)).digest("hex").slice(0, 8);
}
