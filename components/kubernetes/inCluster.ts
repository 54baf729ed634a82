import { Provider } from "@pulumi/kubernetes/provider.js";
import * as pulumi from "@pulumi/pulumi";
import type { ApiClient } from "../gates/apiProbe.ts";
import { policyGate } from "../gates/policyGate.ts";
import type { ClusterSpec } from "../model/clusterSpec.ts";
import { AddOn } from "./addOn.ts";
import { inClusterPlan } from "./addOnList.ts";
import { gmsaWebhookHost } from "./addOns/gmsa.ts";
import { WebhookCertificate } from "./webhookCertificate.ts";

/** Arguments of the in-cluster layer. */
export interface InClusterArgs {
  /** The cluster; its `addons` say which add-ons are made. */
  readonly spec: ClusterSpec;
  /** Kubeconfig of an administrator. It is made secret here whatever comes in. */
  readonly kubeconfig: pulumi.Input<string>;
  /** How the gate of the admission policy asks the API. */
  readonly api: pulumi.Input<ApiClient>;
  /** What tells this cluster from any other, such as a hash of its CA. Only a change of it replaces the provider and all objects. */
  readonly clusterIdentifier: pulumi.Input<string>;
  /** Resource that is there once the Kubernetes API answers. */
  readonly apiGate: pulumi.Resource;
  /** Pools of workers. System objects do not wait for them, or the first `up` could not end: nodes are Ready only with a network. */
  readonly pools: readonly pulumi.Resource[];
  /** Host name of the internal API endpoint, for agents that start before the `kubernetes` Service is reachable. */
  readonly nodeEndpoint: pulumi.Input<string>;
  /** Content of `azure.json`, see `azureCloudConfig`. Required on Azure with the cloud controller, unused elsewhere. */
  readonly azureCloudConfig?: pulumi.Input<string>;
  /** Object id of the identity that reads the secrets of gMSA accounts. Required on Azure with such accounts, unused elsewhere. */
  readonly gmsaObjectId?: pulumi.Input<string> | undefined;
}

/** Everything that runs inside the cluster: networking, cloud integration, storage, guard rails, monitoring and samples. */
export class InCluster extends pulumi.ComponentResource {
  /** Add-ons by name. */
  readonly addOns: ReadonlyMap<string, AddOn>;
  readonly provider: Provider;

  constructor(name: string, args: InClusterArgs, options: pulumi.ComponentResourceOptions = {}) {
    super("fenestra:kubernetes:InCluster", name, {}, options);
    this.provider = new Provider(
      `${name}-provider`,
      {
        kubeconfig: pulumi.secret(args.kubeconfig),
        clusterIdentifier: args.clusterIdentifier,
        enableServerSideApply: true,
        // Objects of an update that was cut off exist in the cluster and not in the state. Without this the next update stops at each of
        // them: `deployments.apps "x" already exists`. Every object here is ours by its name, and no name is given twice.
        upsertExistingObjects: true,
        // By default a changed one is deleted and made anew, and pods that start in between fail (pulumi/pulumi-kubernetes: provider/diff.go).
        enableConfigMapMutable: true,
        enableSecretMutable: true,
      },
      { parent: this, dependsOn: [args.apiGate] },
    );

    const addOns = new Map<string, AddOn>();
    const values = {
      nodeEndpoint: pulumi.output(args.nodeEndpoint),
      azureCloudConfig: args.azureCloudConfig === undefined ? undefined : pulumi.secret(args.azureCloudConfig),
      gmsaObjectId: args.gmsaObjectId === undefined ? undefined : pulumi.output(args.gmsaObjectId),
      gmsaCertificate:
        args.spec.addons.gmsa === undefined
          ? undefined
          : new WebhookCertificate(`${name}-gmsa-webhook`, { host: gmsaWebhookHost }, { parent: this }),
    };
    for (const entry of inClusterPlan(args.spec, values)) {
      const others = entry.after.map((other) => addOns.get(other)).filter((other) => other !== undefined);
      const addOn = new AddOn(
        `${name}-${entry.name}`,
        {
          manifests: entry.manifests,
          after: [args.apiGate, ...(entry.needsPools ? args.pools : []), ...others],
          ...(entry.cleansUp ? {} : { deletedWith: args.apiGate }),
        },
        { parent: this, provider: this.provider },
      );
      if (entry.proof !== undefined) {
        // A child of the add-on, so that whatever waits for the add-on waits for the proof too.
        policyGate(
          `${name}-${entry.name}-in-force`,
          {
            proof: entry.proof,
            api: args.api,
            cluster: args.clusterIdentifier,
            apiServers: args.spec.controlPlane.members.length,
          },
          { parent: addOn, dependsOn: [...addOn.objects] },
        );
      }
      addOns.set(entry.name, addOn);
    }
    this.addOns = addOns;
    this.registerOutputs();
  }
}
