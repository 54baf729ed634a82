import assert from "node:assert/strict";
import { setTimeout as pause } from "node:timers/promises";
import { type ApiServer, until } from "./apiServer.ts";

const group = { apiVersion: "admissionregistration.k8s.io/v1" };
const sentinel = (kind: string, name: string, spec: object, binding: object) => [
  {
    ...group,
    kind,
    metadata: { name },
    spec: {
      failurePolicy: "Fail",
      matchConstraints: {
        resourceRules: [{ apiGroups: [""], apiVersions: ["v1"], operations: ["CREATE"], resources: ["configmaps"] }],
      },
      matchConditions: [{ name: "own", expression: `object.metadata.name == "${name}"` }],
      ...spec,
    },
  },
  { ...group, kind: `${kind}Binding`, metadata: { name }, spec: { policyName: name, ...binding } },
];

/**
 * Waits until the API server enforces every earlier policy, and no deleted one. It computes all of a kind at once from
 * two watches, each in order (k8s.io/apiserver: plugin/policy/generic/policy_source.go): a test's policy in force was
 * preceded by the others in its watch, and a second one shows what was computed after that.
 */
export async function policiesInForce({ kubectl, send }: Pick<ApiServer, "kubectl" | "send">): Promise<void> {
  const kinds = [
    ["ValidatingAdmissionPolicy", { validations: [{ expression: "false" }] }, { validationActions: ["Deny"] }],
    [
      "MutatingAdmissionPolicy",
      {
        reinvocationPolicy: "Never",
        mutations: [
          {
            patchType: "ApplyConfiguration",
            applyConfiguration: { expression: 'Object{metadata: Object.metadata{labels: {"seen": "yes"}}}' },
          },
        ],
      },
      {},
    ],
  ] as const;
  for (const [kind, spec, binding] of kinds)
    for (const round of ["first", "second"]) {
      const name = `sentinel-${round}`;
      const objects = JSON.stringify({ apiVersion: "v1", kind: "List", items: sentinel(kind, name, spec, binding) });
      const made = await kubectl(["create", "-f", "-"], objects);
      assert.equal(made.code, 0, made.stderr);
      await until(`${kind} ${name} to be in force`, async () => {
        const map = JSON.stringify({ apiVersion: "v1", kind: "ConfigMap", metadata: { name } });
        const { taken, body } = await send("POST", "/api/v1/namespaces/default/configmaps?dryRun=All", map);
        return !taken || body.includes('"seen":"yes"');
      });
      await kubectl(["delete", "-f", "-"], objects);
    }
}

/**
 * What the type controller says of each policy. For each expression and kind it compiles all variables, which takes
 * minutes on a busy machine.
 */
export async function typesChecked({
  kubectl,
}: Pick<ApiServer, "kubectl">): Promise<readonly (readonly [name: string, said: unknown])[]> {
  const read = async (): Promise<readonly { metadata: { name: string }; status?: { typeChecking?: unknown } }[]> =>
    JSON.parse((await kubectl(["get", "validatingadmissionpolicies", "-o", "json"])).stdout).items;
  for (let tries = 0; tries < 120; tries++) {
    if ((await read()).every(({ status }) => status?.typeChecking !== undefined)) break;
    await pause(5000);
  }
  return (await read()).map(({ metadata, status }) => [metadata.name, status?.typeChecking]);
}
