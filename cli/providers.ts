import { randomBytes } from "node:crypto";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { parseArgs } from "node:util";
import { loadConfig } from "../components/config/load.ts";
import { readStackFile, stackNames } from "../components/config/stackFile.ts";
import { placeOf, simulatedCloud } from "../plan/fakes/cloud.ts";
import { ServedCloud } from "../plan/providers/cloud.ts";
import { engineVariables } from "../plan/providers/engineVariables.ts";
import { serveProviders } from "../plan/providers/serve.ts";
import { type Command, exitCodes, UsageError } from "./exit.ts";

const help = `Usage: fenestra providers --stack NAME

Serves simulated clouds to the official Pulumi CLI until Ctrl-C: aws, azure-native, tls and random over the provider protocol, on the
loopback. Prints what to export in another terminal; pulumi preview, refresh and destroy of NAME then need no account and no network.

  --stack NAME   the stack: NAME of stacks/Pulumi.NAME.yaml

The Kubernetes provider is the real one, so it must be installed: pulumi plugin install resource kubernetes. There are no machines behind
these clouds: pulumi up goes as far as the gate that waits for the API. fenestra rehearse --stack NAME --engine brings the control plane.
Values of documentation in the stack file, such as 203.0.113.0/24, are refused here as in front of a real cloud. State, passphrase and what
was made live as long as this process; pulumi stack init adds an encryptionsalt to the stack file, which is worth nothing afterwards.
`;

/** `fenestra providers`. */
export const providersCommand: Command = {
  summary: "Serve simulated clouds to the official Pulumi CLI",
  help,
  run: async (args, { out, err }) => {
    const { values } = parseArgs({ args: [...args], options: { stack: { type: "string" } } });
    const { stack } = values;
    if (stack === undefined) throw new UsageError(`providers needs --stack NAME; allowed: ${stackNames().join(", ")}`);
    const config = readStackFile(stack);
    loadConfig(config);
    const cloud = new ServedCloud(simulatedCloud(placeOf(config), "real"));
    const served = await serveProviders(cloud);
    const folder = mkdtempSync(path.join(tmpdir(), "fenestra-state-"));
    try {
      out(engineVariables({ ports: served.ports, folder, passphrase: randomBytes(16).toString("hex") }));
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
