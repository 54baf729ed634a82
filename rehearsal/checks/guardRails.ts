import type { V1PodSpec } from "@kubernetes/client-node";
import { expect, expectEqual } from "../../checks/check.ts";
import { runtimeClassPolicyCheck } from "../../checks/cluster/placement.ts";
import { ports } from "../../checks/facts.ts";
import { limitsMs } from "../host/limits.ts";
import type { CheckContext, RehearsalCheck } from "./context.ts";

/** A pod and what the API server must answer to it. */
interface Row {
  readonly about: string;
  readonly spec: Partial<V1PodSpec>;
  readonly image?: string;
  readonly namespace?: string;
  /** RuntimeClass that the pod has after admission; `null` for none. Not looked at when `undefined`. */
  readonly runtimeClass?: string | null;
  /** A part of the refusal. */
  readonly refused?: RegExp;
  /** A part of a warning. */
  readonly warned?: RegExp;
}

const windows = { os: { name: "windows" } };
const limits = { resources: { limits: { memory: "256Mi" } } };
const servercore = "mcr.microsoft.com/windows/servercore";
/** A namespace where PodSecurity refuses nothing, so that the policies are heard. */
const free = "guard-rails";

function rows(classes: readonly string[], mutates: boolean): readonly Row[] {
  const [only] = classes;
  const several = classes.length > 1;
  return [
    {
      about: "an image that names no release",
      spec: windows,
      image: "registry.example.test/app:1.0",
      runtimeClass: mutates && !several ? (only ?? null) : null,
      ...(mutates && !several ? {} : { warned: mutates ? /cannot be told from its image/ : /adds nothing to pods/ }),
    },
    {
      about: "a RuntimeClass of its own",
      spec: { ...windows, runtimeClassName: only ?? "" },
      image: "registry.example.test/app:1.0",
      runtimeClass: only ?? null,
    },
    { about: "a Linux pod", spec: {}, image: "registry.example.test/app:1.0", runtimeClass: null },
    {
      about: "hostNetwork, which Windows ignores",
      namespace: free,
      spec: { ...windows, hostNetwork: true },
      image: `${servercore}:ltsc${only?.slice(-4) ?? ""}`,
      warned: /ignores hostNetwork/,
    },
    {
      about: "a HostProcess pod in an ordinary namespace",
      namespace: free,
      spec: {
        ...windows,
        hostNetwork: true,
        securityContext: { windowsOptions: { hostProcess: true, runAsUserName: "NT AUTHORITY\\SYSTEM" } },
      },
      image: `${servercore}:ltsc2022`,
      refused: /HostProcess pods have every right on their node/,
    },
    {
      about: "a pod with a folder of its host where no namespace allows it",
      spec: { volumes: [{ name: "root", hostPath: { path: "/" } }] },
      refused: /violates PodSecurity "baseline:/,
    },
    {
      about: "a pod that takes the kubelet's port of its node",
      spec: {
        containers: [
          {
            name: "app",
            image: "registry.example.test/app:1.0",
            ports: [{ containerPort: 80, hostPort: ports.kubelet }],
          },
        ],
      },
      refused: /violates PodSecurity "baseline:.*hostPort/,
    },
    {
      about: "a pod that tolerates everything",
      spec: { tolerations: [{ operator: "Exists" }] },
      ...(mutates ? { runtimeClass: null } : { refused: /could act as a control-plane machine/ }),
    },
  ];
}

/** A Service that would get what nodes send to an address of others. */
const takesAddress = {
  apiVersion: "v1",
  kind: "Service",
  metadata: { name: "guard-rail" },
  spec: { ports: [{ port: 443 }], externalIPs: ["192.0.2.1"] },
};

async function dryRun(
  { kubectl }: CheckContext,
  row: Row,
): Promise<{ code: number; spec: V1PodSpec | undefined; said: string }> {
  const pod = {
    apiVersion: "v1",
    kind: "Pod",
    metadata: { generateName: "guard-rail-" },
    spec: {
      containers: [{ name: "app", image: row.image ?? "registry.example.test/app:1.0", ...limits }],
      ...row.spec,
    },
  };
  const { code, stdout, stderr } = await kubectl(
    ["create", "--dry-run=server", "--output=json", `--namespace=${row.namespace ?? "default"}`, "--filename=-"],
    JSON.stringify(pod),
  );
  const answer: { readonly spec: V1PodSpec } | undefined = code === 0 ? JSON.parse(stdout) : undefined;
  return { code, spec: answer?.spec, said: stderr };
}

/**
 * The admission policies as the API server enforces them, on a table of pods.
 * @param mutates whether the API server has policies that change pods
 */
export function guardRailChecks(classes: readonly string[], mutates: boolean): readonly RehearsalCheck[] {
  const skip = mutates ? {} : { skip: "this minor has no policies that change pods: a pod names its class itself" };
  return [
    // Policies are in force a moment after they are made.
    ...classes.map((name) => ({
      ...runtimeClassPolicyCheck({ name, imageTag: `ltsc${name.slice(-4)}` }, limitsMs.answer),
      ...skip,
    })),
    {
      id: "guard rails",
      title: "the API server's own policies place, warn of and refuse pods as they should",
      run: async (context) => {
        const table = rows(classes, mutates);
        const labels = { "pod-security.kubernetes.io/enforce": "privileged" };
        await context.api.core.createNamespace({ body: { metadata: { name: free, labels } } });
        for (const row of table) {
          const { code, spec, said } = await dryRun(context, row);
          expectEqual(
            code === 0 ? "accepted" : "refused",
            row.refused === undefined ? "accepted" : "refused",
            `${row.about} (${said.trim()})`,
          );
          if (row.refused !== undefined) expect(row.refused.test(said), `${row.about} is refused with: ${said.trim()}`);
          if (row.warned !== undefined) expect(row.warned.test(said), `${row.about} is not warned of: ${said.trim()}`);
          if (row.runtimeClass !== undefined)
            expectEqual(spec?.runtimeClassName ?? null, row.runtimeClass, `RuntimeClass of ${row.about}`);
          const tolerations = (spec?.tolerations ?? []).filter(({ key }) => key === "os");
          if (row.runtimeClass) expectEqual(tolerations.length, 1, `tolerations of the Windows taint of ${row.about}`);
        }
        const { code, stderr } = await context.kubectl(
          ["create", "--dry-run=server", "--namespace=default", "--filename=-"],
          JSON.stringify(takesAddress),
        );
        expect(
          code !== 0 && /spec\.externalIPs: 192\.0\.2\.1/.test(stderr),
          `a Service takes an address: ${stderr.trim()}`,
        );
        await context.api.core.deleteNamespace({ name: free });
        context.note(`a Service and ${table.length} pods, each with the expected answer`);
      },
    },
  ];
}
