import { createHash } from "node:crypto";
import * as pulumi from "@pulumi/pulumi";
import { z } from "zod";
import { fromJson } from "../model/json.ts";
import { type ApiClient, askApi, unlessRefused } from "./apiProbe.ts";
import { inARow, type Patience, resolvedValue, waitForApi } from "./waitFor.ts";

/** A Windows pod's image, and the RuntimeClass that the API server must give it. */
export interface ClassProbe {
  readonly image: string;
  /** `undefined` where the pod must be left without. */
  readonly runtimeClass: string | undefined;
}

/** How an admission policy shows that it is in force. */
export interface PolicyProof {
  readonly policy: string;
  /** The policy and its binding: a change repeats the proof. */
  readonly objects: readonly object[];
  readonly probes: readonly ClassProbe[];
}

interface PolicyGateArgs {
  readonly proof: PolicyProof;
  readonly api: pulumi.Input<ApiClient>;
  /** Identifier of the cluster: a new one has to prove it again. */
  readonly cluster: pulumi.Input<string>;
  /** Number of API servers, each of which loads a policy on its own schedule. */
  readonly apiServers: number;
  /** Default: every half second for two minutes. A policy is in force about a second after its creation. */
  readonly patience?: Patience;
}

/** Namespace of the probes: every cluster has it, and the policy excludes system namespaces only. */
const namespace = "default";

/**
 * Consecutive rounds of right answers where a load balancer chooses the API server. They last several times as long as
 * a policy takes to reach a server, and the chance that one was never asked is one in many thousands.
 */
const roundsOfSeveral = 8;

/**
 * The gate behind an admission policy, which an API server enforces only a moment after it has accepted it: objects
 * created in between pass unchanged. It opens when pods sent as a dry run come back as the policy changes them.
 */
export function policyGate(name: string, args: PolicyGateArgs, opts: pulumi.CustomResourceOptions): pulumi.Stash {
  const { policy, objects, probes } = args.proof;
  const hook = new pulumi.ResourceHook(name, async () => {
    const api = await resolvedValue(args.api);
    const kinds = "mutatingadmissionpolicy,mutatingadmissionpolicybinding";
    await waitForApi(
      api,
      `admission policy ${policy} at ${api.server} (look at: kubectl get ${kinds} ${policy} -o yaml)`,
      inARow(args.apiServers > 1 ? roundsOfSeveral : 1, () => classesProblem(api, probes)),
      { everySeconds: 0.5, limitSeconds: 120, ...args.patience },
    );
  });
  const digest = createHash("sha256").update(JSON.stringify(objects)).digest("hex");
  return new pulumi.Stash(
    name,
    { input: { policy, digest, cluster: args.cluster } },
    { ...opts, hooks: { beforeCreate: [hook], beforeUpdate: [hook] } },
  );
}

const refusal = z.object({ message: z.string() });
const returned = z.object({ kind: z.literal("Pod"), spec: z.object({ runtimeClassName: z.string().optional() }) });

/** What is wrong with the first pod that does not come back as it should, or `undefined`. */
export async function classesProblem(api: ApiClient, probes: readonly ClassProbe[]): Promise<string | undefined> {
  for (const { image, runtimeClass } of probes) {
    const { status, body } = await askApi(api, `/api/v1/namespaces/${namespace}/pods?dryRun=All`, probePod(image));
    const pod = `a Windows pod with image ${image} in namespace ${namespace}`;
    const answer = fromJson(body);
    if (status !== 201) {
      const said = refusal.safeParse(answer).data?.message ?? body.slice(0, 200);
      return unlessRefused(status, `${pod}: the API answers ${status}: ${said}`);
    }
    const { data } = returned.safeParse(answer);
    if (data === undefined) return `${pod} does not come back as a pod`;
    const given = data.spec.runtimeClassName;
    if (given !== runtimeClass)
      return `${pod} gets ${given === undefined ? "no RuntimeClass" : `RuntimeClass ${given}`}, wanted ${runtimeClass ?? "none"}`;
  }
  return undefined;
}

/** Sets all that a strict namespace may require, so that no quota or Pod Security level refuses it. */
function probePod(image: string): object {
  const amounts = { cpu: "10m", memory: "64Mi" };
  return {
    apiVersion: "v1",
    kind: "Pod",
    metadata: { generateName: "fenestra-policy-probe-" },
    spec: {
      os: { name: "windows" },
      automountServiceAccountToken: false,
      securityContext: { runAsNonRoot: true },
      containers: [{ name: "probe", image, resources: { requests: amounts, limits: amounts } }],
    },
  };
}
