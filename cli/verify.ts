import { accessSync, closeSync, constants, existsSync, openSync } from "node:fs";
import path from "node:path";
import { parseArgs } from "node:util";
import { checkList, chosenChecks } from "../check/cluster/checkList.ts";
import { balancerKinds } from "../check/cluster/probePods.ts";
import { clusterFacts, greet, orSaid, verify } from "../check/cluster/verify.ts";
import { type Command, exitCodes, UsageError, withUserFile } from "./exit.ts";
import { clusterOf } from "./kubeconfig.ts";

const defaults = {
  /** The first pull of a Windows image may take most of it. */
  timeout: "1200",
  prefix: "fenestra-verify",
  loadBalancer: "internal",
  outbound: "https://registry.k8s.io/",
} as const;

const help = `Usage: fenestra verify --kubeconfig FILE [options]

Checks a running cluster: nodes, placement, networking between Linux and Windows, Services, DNS, storage, metrics, logs. Works in a namespace
of its own and removes it at the end, also after Ctrl-C or a failure. It makes a load balancer and a disk per system and Windows build for a
short time.

  --kubeconfig FILE        an administrator's kubeconfig; its current context is used
  --junit FILE             write the results to FILE in the form that CI systems read
  --only ID,...            run only these checks: whole ids, or what stands before the slash, as in pod-to-pod,dns/linux
  --skip ID,...            leave these out, named in the same way
  --load-balancer KIND     internal (default): asked from a control-plane node; public: asked from here; none: skip that check
  --source CIDR,...        networks that a public load balancer lets in, this machine's among them
  --timeout SECONDS        time limit of each check (default ${defaults.timeout}: the first pull of a Windows image is slow)
  --namespace-prefix NAME  beginning of the namespace's name (default ${defaults.prefix})
  --outbound URL           what pods must reach outside (default ${defaults.outbound}); none: skip that check

A check passes, fails with the reason and what to look at, or is skipped with the reason. The last line is: N passed, N failed, N skipped.
Exit code: 0 no check failed, 1 a check failed, the cluster does not answer or more than an empty namespace is left, 2 a mistake in the command line.
`;

export const command: Command = {
  help,
  run: async (args, terminal) => {
    const options = parseArguments(args);
    const api = clusterOf(options.kubeconfig);
    const unreachable = await greet(api, terminal);
    if (unreachable) return exitCodes.findings;
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
    return (await verify(api, chosen.checks, options, terminal)) ? exitCodes.fine : exitCodes.findings;
  },
};

function parseArguments(args: readonly string[]) {
  const { values } = parseArgs({
    args: [...args],
    options: {
      kubeconfig: { type: "string" },
      junit: { type: "string" },
      only: { type: "string", default: "" },
      skip: { type: "string", default: "" },
      "load-balancer": { type: "string", default: defaults.loadBalancer },
      source: { type: "string", default: "" },
      timeout: { type: "string", default: defaults.timeout },
      "namespace-prefix": { type: "string", default: defaults.prefix },
      outbound: { type: "string", default: defaults.outbound },
    },
  });
  const { kubeconfig, junit, only, skip, timeout, outbound } = values;
  const prefix = values["namespace-prefix"];
  if (kubeconfig === undefined) throw new UsageError("verify needs --kubeconfig FILE");
  if (!/^[1-9]\d{0,5}$/.test(timeout))
    throw new UsageError(`--timeout ${timeout} is not a time limit; allowed: whole seconds from 1 to 999999`);
  // A namespace's name, with its random end, has at most 63 characters.
  if (!/^[a-z]([-a-z0-9]{0,53}[a-z0-9])?$/.test(prefix))
    throw new UsageError(
      `--namespace-prefix ${prefix} cannot begin a namespace's name; allowed: 1 to 55 lower-case letters, digits and hyphens, a letter first, no hyphen last`,
    );
  if (outbound !== "none" && !/^https?:\/\/[^/]/.test(outbound))
    throw new UsageError(`--outbound ${outbound} is no address; allowed: an http or https URL, or none`);
  const loadBalancer = balancerKinds.find((kind) => kind === values["load-balancer"]);
  if (loadBalancer === undefined)
    throw new UsageError(
      `--load-balancer ${values["load-balancer"]} is none of them; allowed: ${balancerKinds.join(", ")}`,
    );
  const sources = words(values.source);
  if (
    (loadBalancer === "public") !== sources.length > 0 ||
    !sources.every((source) => /^\d+\.\d+\.\d+\.\d+\/\d+$/.test(source))
  )
    throw new UsageError(
      `--source ${values.source} does not fit; allowed: networks as 203.0.113.7/32, with --load-balancer public, which needs them`,
    );
  if (junit !== undefined) requireWritable(junit);
  return {
    kubeconfig,
    junit,
    only: words(only),
    skip: words(skip),
    loadBalancer,
    sources,
    limitMs: Number(timeout) * 1000,
    prefix,
    outbound: outbound === "none" ? undefined : outbound,
  };
}

const words = (text: string): readonly string[] =>
  text
    .split(",")
    .map((word) => word.trim())
    .filter((word) => word !== "");

/** Tried before the checks, whose results would otherwise be lost. */
function requireWritable(junit: string): void {
  const allowed = "a file in a folder that is there and yours to write";
  withUserFile(`--junit ${junit}`, allowed, () => accessSync(path.dirname(junit), constants.W_OK));
  if (existsSync(junit)) withUserFile(`--junit ${junit}`, allowed, () => closeSync(openSync(junit, "r+")));
}
