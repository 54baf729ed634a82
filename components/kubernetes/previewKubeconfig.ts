import * as pulumi from "@pulumi/pulumi";
import { type ApiClient, askApi, Refused } from "../gates/apiProbe.ts";
import { messageOf } from "../gates/messageOf.ts";

/** Of no cluster: the provider has nobody to ask. */
export const noCluster = JSON.stringify({ apiVersion: "v1", kind: "Config" });

/**
 * The provider's kubeconfig; in a preview to which the API does not answer, one of no cluster. Of admission policies the
 * provider does not know by itself whether they have a namespace: it asks for each of them twice, one after the other,
 * half a minute each (pulumi/pulumi-kubernetes v4.32.0: provider/pkg/clients, IsNamespacedKind). What a preview says of
 * objects is by their inputs in any case.
 */
export function previewKubeconfig(
  kubeconfig: pulumi.Input<string>,
  api: pulumi.Input<ApiClient>,
): pulumi.Output<string> {
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
