import { z } from "zod";
import { expect, expectEqual } from "../../checks/check.ts";
import { waitingContainer } from "../../checks/cluster/api.ts";
import { issuerPaths, sampleAccount, tokenAudiences } from "../../checks/facts.ts";
import type { StackConfig } from "../../components/config/schema.ts";
import { publicObject, rolesFor } from "../../plan/fakes/awsAccess.ts";
import { identitiesFor, publicBlob } from "../../plan/fakes/azureAccess.ts";
import type { RecordedProgram } from "../../plan/program/recorded.ts";
import type { Cluster } from "../cluster/cluster.ts";
import { limitsMs } from "../host/limits.ts";
import { waitFor } from "../host/processes.ts";
import type { CheckContext, RehearsalCheck } from "./context.ts";

const clouds = {
  aws: { read: publicObject, judge: rolesFor },
  azure: { read: publicBlob, judge: identitiesFor },
} as const;

const discovery = z.object({ issuer: z.string(), jwks_uri: z.string() });
const volume = "fenestra-identity";

/** Checks that pods get rights in the cloud by their tokens; none where the stack has no such rights or samples. */
export function identityChecks(
  { cloud, access }: Pick<StackConfig, "cloud" | "access">,
  program: RecordedProgram,
  cluster: Cluster,
): readonly RehearsalCheck[] {
  if (access.workloadIdentity === undefined || access.workloadIdentity.issuer !== undefined) return [];
  const { read, judge } = clouds[cloud];
  return [
    {
      id: "issuer",
      title: "the API server serves the documents of the issuer that everybody reads in the cloud",
      run: async ({ kubectl, note }) => {
        const served = async (path: string): Promise<unknown> =>
          JSON.parse((await kubectl(["get", "--raw", `/${path}`])).stdout);
        const document = await served(issuerPaths.discovery);
        const { issuer, jwks_uri: keys } = discovery.parse(document);
        const published = (url: string): unknown => JSON.parse(read(program, url) ?? "null");
        expectEqual(published(`${issuer}/${issuerPaths.discovery}`), document, "discovery document");
        expectEqual(published(keys), await served(issuerPaths.keySet), "key set");
        note(`${issuer} with ${access.serviceAccountKeys.length} keys`);
      },
    },
    {
      id: "tokens for the cloud",
      title:
        "the token that the kubelet gives a pod is worth the identity of its service account, and another one's nothing",
      run: async (context) => {
        const { kubectl, note } = context;
        const token = await tokenOfPod(context, cluster);
        const [identity = "", ...others] = await judge(program, token);
        expect(others.length === 0, `the token is worth ${others.length + 1} identities`);
        expect(identity.endsWith(`${sampleAccount.namespace}_${sampleAccount.name}`), `identity ${identity}`);
        const audience = tokenAudiences[cloud];
        const made = await kubectl([
          "create",
          "token",
          "default",
          "--namespace",
          sampleAccount.namespace,
          `--audience=${audience}`,
        ]);
        expectEqual(await judge(program, made.stdout.trim()), [], "identities of another service account");
        note(`${identity}, for a token of the kubelet on a Linux worker`);
      },
    },
  ];
}

/** The token that a Linux worker's kubelet wrote for a pod of the sample's service account. */
async function tokenOfPod({ api, waitingImage, linuxWorkers }: CheckContext, cluster: Cluster): Promise<string> {
  const { namespace, name: serviceAccountName } = sampleAccount;
  const name = "identity-check";
  const spec = {
    serviceAccountName,
    nodeSelector: { "kubernetes.io/os": "linux" },
    containers: [waitingContainer(waitingImage)],
  };
  try {
    const pod = await api.core.createNamespacedPod({ namespace, body: { metadata: { name }, spec } });
    expect(pod.spec?.volumes?.some((each) => each.name === volume) === true, "the pod got no volume with a token");
    const file = `/var/lib/kubelet/pods/${pod.metadata?.uid}/volumes/kubernetes.io~projected/${volume}/token`;
    return await waitFor("the kubelet to write the token", limitsMs.answer, async () => {
      for (const id of linuxWorkers) {
        const found = await cluster.machines.get(id)?.run(["cat", file]);
        if (found?.code === 0) return found.stdout;
      }
      return undefined;
    });
  } finally {
    await api.core.deleteNamespacedPod({ namespace, name, gracePeriodSeconds: 0 }).catch(() => undefined);
  }
}
