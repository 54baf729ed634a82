import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { parseArgs } from "node:util";
import { purposes } from "../ci/environments.ts";
import { loadConfig } from "../components/config/load.ts";
import { placeOf, simulatedCloud } from "../plan/fakes/cloud.ts";
import { ServedCloud } from "../plan/providers/cloud.ts";
import { makeEngineProject, withoutExamples } from "../plan/providers/engineProject.ts";
import { serveProviders } from "../plan/providers/serve.ts";
import { deployerOf } from "./deployer.ts";
import { type Command, exitCodes } from "./exit.ts";
import { readStack, stackHelp, stackOptions } from "./project.ts";

const help = `Usage: fenestra providers --stack NAME [--stack-dir DIR] [--as WORKFLOW] [--fail NAME]...

Serves simulated clouds to the official Pulumi CLI until Ctrl-C: aws, azure-native, tls and random over the provider protocol, on the
loopback. Prints what another terminal needs; pulumi preview, refresh and destroy then need no account and no network.

${stackHelp(17)}
  --as WORKFLOW    whose rights the deployer has: ${purposes.join(", ")}, by the roles of ci/. Default: every right
  --fail NAME      the next operation on the resource of that name is only half done: the provider reports a failure

The last line goes into a folder that has the program with a copy of the stack file, in which values of documentation such as 203.0.113.0/24
are replaced, and a state of its own; all of it lives as long as this process. The Kubernetes provider is the real one and must be installed:
pulumi plugin install resource kubernetes VERSION. There are no machines behind these clouds: pulumi up goes as far as the gate that waits for
the API. fenestra rehearse --stack NAME --engine has machines.
`;

const own = { as: { type: "string" }, fail: { type: "string", multiple: true } } as const;

export const command: Command = {
  help,
  run: async (args, { out, err }) => {
    const { values } = parseArgs({ args: [...args], options: { ...stackOptions, ...own } });
    const deployer = deployerOf(values.as);
    const { stack, config: written } = readStack("providers needs --stack NAME", values);
    const config = withoutExamples(written);
    loadConfig(config);
    const place = placeOf(config);
    const cloud = new ServedCloud(simulatedCloud(place, "real"), [], {}, place.existing);
    if (deployer !== undefined) cloud.deployer = deployer(stack, config);
    for (const name of values.fail ?? []) cloud.failing.add(name);
    const served = await serveProviders(cloud);
    const folder = mkdtempSync(path.join(tmpdir(), "fenestra-state-"));
    try {
      out(`${makeEngineProject({ folder, stack, config, ports: served.ports })}cd ${folder}\n`);
      err(`serving ${[...served.ports.keys()].join(", ")} for ${stack}; press Ctrl-C to end\n`);
      await new Promise<void>((resolve) => {
        for (const signal of ["SIGINT", "SIGTERM"] as const) process.once(signal, () => resolve());
      });
      err(`${cloud.size} resources were left in the simulated cloud\n`);
    } finally {
      served.close();
      rmSync(folder, { recursive: true, force: true });
    }
    return exitCodes.fine;
  },
};
