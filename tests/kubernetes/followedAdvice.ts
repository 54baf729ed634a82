import assert from "node:assert/strict";
import { type ApiServer, applied, namespaceOf, until } from "../support/apiServer.ts";
import { ofPolicies, tried } from "./podCluster.ts";
import { type PodCase, podHomes, podTable, tableNamespaces } from "./pods.ts";

const own = podTable.filter(({ title }) => title.startsWith("own/"));

/** What policies advise, followed: it lets a pod in, or silences a warning. */
export function followedAdvice(server: () => ApiServer): void {
  const create = (namespace: string, spec: PodCase["spec"]) => tried(server(), namespace, spec);

  it("let in whoever follows a refusal's advice", async () => {
    const without = (spec: PodCase["spec"], ...fields: readonly string[]): PodCase["spec"] =>
      Object.fromEntries(Object.entries(spec).filter(([field]) => !fields.includes(field)));
    const advice: readonly (readonly [says: RegExp, follow: (spec: PodCase["spec"]) => PodCase["spec"]])[] = [
      [/use images of one release/, (spec) => ({ ...spec, containers: [Object(spec.containers)[0]] })],
      [/leave spec.runtimeClassName and the label/, (spec) => without(spec, "runtimeClassName", "nodeSelector")],
      [/leave gmsaCredentialSpecName/, (spec) => ({ ...without(spec, "initContainers"), ...account })],
      [/leave it out/, (spec) => without(spec, "nodeName")],
      [/set spec.os.name: windows/, (spec) => ({ ...spec, os: { name: "windows" } })],
      [/kubectl label namespace/, (spec) => spec],
    ];
    const account = { securityContext: { windowsOptions: { gmsaCredentialSpecName: "web" } } };
    for (const [index, row] of own.entries()) {
      if (row.place !== "refused" || /PodSecurity|runhcs/.test(row.says.join())) continue;
      const namespace = `advice-${index}`;
      // The advice must replace a value.
      const labels = { "pod-security.kubernetes.io/warn": "baseline", ...tableNamespaces[row.namespace] };
      await applied(server(), [namespaceOf(namespace, labels)]);
      const refused = JSON.parse((await create(namespace, row.spec)).body).message;
      const [, follow] = advice.find(([says]) => says.test(refused)) ?? assert.fail(refused);
      const [, command] = /: kubectl (label namespace .*)$/.exec(refused) ?? [];
      if (command !== undefined) assert.equal((await server().kubectl(command.split(" "))).code, 0);
      // A label is seen a moment later.
      await until(`${row.title}: ${refused}`, async () => (await create(namespace, follow(row.spec))).taken);
    }
  });

  it("say it no more to whoever follows a warning's advice", async () => {
    type Follow = (spec: PodCase["spec"], warning: string) => unknown;
    /** With each object at any depth as `change` makes it. */
    const everywhere = (value: unknown, change: (object: object) => object): unknown =>
      Array.isArray(value)
        ? value.map((each) => everywhere(each, change))
        : typeof value === "object" && value !== null
          ? Object.fromEntries(Object.entries(change(value)).map(([key, each]) => [key, everywhere(each, change)]))
          : value;
    const leave = (spec: PodCase["spec"], fields: readonly string[]): unknown =>
      everywhere(spec, (each) => Object.fromEntries(Object.entries(each).filter(([key]) => !fields.includes(key))));
    /** What the advice names. */
    const named = (warning: string, pattern: RegExp): string => pattern.exec(warning)?.[1] ?? assert.fail(warning);
    const probing: Follow = (spec, warning) => {
      const exec = {
        exec: { command: ["a"] },
        timeoutSeconds: Number(named(warning, /timeoutSeconds(?: to|:) (\d+) or/)),
      };
      const asked = (key: string) =>
        key === "preStop" ? { exec: exec.exec } : key.endsWith("Probe") ? exec : undefined;
      return everywhere(spec, (each) =>
        Object.fromEntries(Object.entries(each).map(([key, value]) => [key, asked(key) ?? value])),
      );
    };
    const advice: readonly (readonly [says: RegExp, follow: Follow])[] = [
      [
        /promise: .*Leave them out/,
        (spec, warning) =>
          leave(
            spec,
            /promise: ([^:]*?)\. Leave/
              .exec(warning)?.[1]
              ?.split(", ")
              .map((each) => each.replace(/.*\./, "")) ?? [],
          ),
      ],
      // What an administrator does lets the pod in as it is.
      [/sets addons.gmsa in the stack file/, (spec) => leave(spec, ["gmsaCredentialSpecName"])],
      [/set timeoutSeconds to \d+ or more/, probing],
      [/use exec with timeoutSeconds: \d+ or more/, probing],
      [/makes no host ports/, (spec) => leave(spec, ["hostPort"])],
      [/dnsPolicy to None with .* or leave it out/, (spec) => leave(spec, ["dnsPolicy"])],
      [
        /set spec.runtimeClassName to one of/,
        (spec, warning) => ({ ...spec, runtimeClassName: named(warning, /to one of ([\w-]+)/) }),
      ],
      [
        /set spec.nodeSelector to kubernetes.io.os: \w+/,
        (spec, warning) => ({ ...spec, nodeSelector: { "kubernetes.io/os": named(warning, /io.os: (\w+)/) } }),
      ],
      [
        /use an image for one of/,
        (spec) => ({ ...leaveSelector(spec), containers: [{ name: "main", image: "x:ltsc2022" }] }),
      ],
    ];
    const leaveSelector = ({ nodeSelector: _, ...spec }: PodCase["spec"]) => spec;
    const followed = new Set<RegExp>();
    for (const row of own.filter(({ place, home }) => place !== "refused" && home === podHomes.pod)) {
      for (const warning of ofPolicies((await create(row.namespace, row.spec)).warnings)) {
        const [says, follow] = advice.find(([each]) => each.test(warning)) ?? assert.fail(warning);
        followed.add(says);
        const { taken, body, warnings } = await create(row.namespace, Object(follow(row.spec, warning)));
        assert.ok(taken, `${row.title}: ${warning}: ${body}`);
        assert.deepEqual(
          ofPolicies(warnings).filter((each) => says.test(each)),
          [],
          `${row.title}: ${warning}`,
        );
      }
    }
    assert.deepEqual(
      advice.filter(([says]) => !followed.has(says)),
      [],
    );
  });
}
