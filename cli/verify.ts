import { writeFileSync } from "node:fs";
import { Command as Declaration, Option } from "@commander-js/extra-typings";
import { checkList, chosenChecks } from "../check/cluster/checkList.ts";
import { balancerKinds } from "../check/cluster/probePods.ts";
import { clusterFacts, greet, orSaid, verify } from "../check/cluster/verify.ts";
import { junitXml } from "../check/report.ts";
import { commandOf, exitCodes, listed, requireWritable, UsageError } from "./exit.ts";
import { clusterOf, kubeconfigOption } from "./kubeconfig.ts";
import { jsonOf } from "./printed.ts";

const declaration = new Declaration()
  .description(
    "Checks a running cluster: nodes, placement, networking between Linux and Windows, Services, DNS, storage, metrics, logs. Works in a namespace of its own and removes it at the end, also after Ctrl-C or a failure. It makes a load balancer and a disk per system and Windows build for a short time.",
  )
  .option(...kubeconfigOption)
  .option("--json", "print the results as JSON")
  .option("--junit <FILE>", "write the results to FILE in the form that CI systems read")
  .option(
    "--only <ID,...>",
    "run only these checks: whole ids, or what stands before the slash, as in pod-to-pod,dns/linux",
    listed,
  )
  .option("--skip <ID,...>", "leave these out, named in the same way", listed)
  .addOption(
    new Option(
      "--load-balancer <KIND>",
      "internal: asked from a control-plane node; public: asked from here; none: skip that check",
    )
      .choices(balancerKinds)
      .default("internal" as const),
  )
  .option("--source <CIDR,...>", "networks that a public load balancer lets in, this machine's among them", listed)
  // The first pull of a Windows image may take most of it.
  .option("--timeout <SECONDS>", "time limit of each check: the first pull of a Windows image is slow", "1200")
  .option("--outbound <URL>", "what pods must reach outside; none: skip that check", "https://registry.k8s.io/");

export const command = commandOf(
  declaration,
  async (given, terminal) => {
    const options = checked(given);
    const api = clusterOf(given.kubeconfig);
    if (await greet(api, terminal)) return exitCodes.findings;
    const facts = await orSaid(api, terminal, () => clusterFacts(api, options));
    if (facts === undefined) return exitCodes.findings;
    const checks = checkList(facts);
    const chosen = chosenChecks(checks, options.only, options.skip);
    if ("unknown" in chosen) {
      const kinds = [...new Set(checks.map(({ id }) => id.split("/")[0]))];
      throw new UsageError(
        `--only or --skip ${chosen.unknown.join(",")} names no check of this cluster; allowed: ${kinds.join(", ")}, or the id of one, such as ${checks[0]?.id}`,
      );
    }
    const settings: Parameters<typeof verify>[2] = {
      ...options,
      onResults: (results) => {
        if (given.junit !== undefined) writeFileSync(given.junit, junitXml(results, api.server));
        if (given.json) terminal.out(jsonOf("verify", results));
      },
    };
    const screen = given.json ? { ...terminal, out: () => {} } : terminal;
    return (await verify(api, chosen.checks, settings, screen)) ? exitCodes.fine : exitCodes.findings;
  },
  { codes: { 1: "a check failed, the cluster does not answer or more than an empty namespace is left" } },
);

function checked(values: ReturnType<typeof declaration.opts>) {
  const { junit, only = [], skip = [], timeout, outbound, loadBalancer, source: sources = [] } = values;
  if (!/^[1-9]\d{0,5}$/.test(timeout))
    throw new UsageError(`--timeout ${timeout} is not a time limit; allowed: whole seconds from 1 to 999999`);
  if (outbound !== "none" && !/^https?:\/\/[^/]/.test(outbound))
    throw new UsageError(`--outbound ${outbound} is no address; allowed: an http or https URL, or none`);
  if (
    (loadBalancer === "public") !== sources.length > 0 ||
    !sources.every((source) => /^\d+\.\d+\.\d+\.\d+\/\d+$/.test(source))
  )
    throw new UsageError(
      `--source ${sources.join(",")} does not fit; allowed: networks as 203.0.113.7/32, with --load-balancer public, which needs them`,
    );
  if (junit !== undefined) requireWritable("--junit", junit);
  return {
    only,
    skip,
    loadBalancer,
    sources,
    limitMs: Number(timeout) * 1000,
    outbound: outbound === "none" ? undefined : outbound,
  };
}
