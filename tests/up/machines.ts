import { readFileSync } from "node:fs";
import { createServer } from "node:http";
import path from "node:path";
import { json } from "node:stream/consumers";
import { z } from "zod";
import { loadConfig } from "../../components/config/load.ts";
import { mapFromWire } from "../../components/gates/values.ts";
import { messageOf } from "../../components/model/messages.ts";
import { minorOf } from "../../components/model/releases.ts";
import { decodeUserData } from "../../plan/decode/userData.ts";
import { placeOf, simulatedCloud } from "../../plan/fakes/cloud.ts";
import { plainRequest, type RecordedProgram } from "../../plan/program/recorded.ts";
import { applyObject } from "../../rehearsal/api/apply.ts";
import { tunnel } from "../../rehearsal/clouds/mirror.ts";
import { createProgress } from "../../rehearsal/host/command.ts";
import { insideNamespaces, runInsideNamespaces, thisCommand } from "../../rehearsal/host/namespaces.ts";
import { obtainContainerPrograms } from "../../rehearsal/programs/build.ts";
import { obtainPrograms } from "../../rehearsal/programs/obtain.ts";
import { makeWorld } from "../../rehearsal/run/runRehearsal.ts";

/**
 * The rehearsed machines of a program, in namespaces of their own: they boot and end as the provider of an engine says,
 * which asks by a socket. By CONNECT it leads to the load balancers. The folder of both is the argument.
 */
const folder = process.argv[2] ?? "";
const inside = insideNamespaces();
if (inside === undefined) process.exit(await runInsideNamespaces(thisCommand()));

const values = z.record(z.string(), z.unknown());
const resourcesShape = z.array(
  z.object({
    ...{ urn: z.string(), type: z.string(), name: z.string(), id: z.string().optional() },
    ...{ inputs: values, outputs: values },
  }),
);
const programShape = z.object({
  ...{ stack: z.string(), config: z.record(z.string(), z.string()) },
  ...{ resources: resourcesShape, outputs: values },
});
const given = programShape.parse(JSON.parse(readFileSync(path.join(folder, "program.json"), "utf8")));
const { stack, config } = given;

function programOf(resources: z.output<typeof resourcesShape>, outputs = {}): RecordedProgram {
  const recorded = resources.map(({ inputs, outputs, id, ...subject }) => ({
    ...plainRequest({ ...subject, inputs: mapFromWire(inputs) }),
    ...{ id, outputs: mapFromWire(outputs) },
  }));
  return { stack, resources: recorded, outputs: mapFromWire(outputs), messages: [] };
}

const progress = createProgress(process.stdout);
const stackConfig = loadConfig(config);
const simulate = simulatedCloud(placeOf(config), "real");
const program = programOf(given.resources, given.outputs);
const { cloud, cluster, decoded } = await makeWorld(
  { config, stackConfig, authority: undefined, simulate, program, hooks: new Map() },
  {
    ...{ stack, progress, workFolder: inside.workFolder, breakage: undefined },
    ...{ updateTo: undefined, updateFrom: undefined },
    programs: await obtainPrograms({ progress, wanted: { minor: minorOf(stackConfig.kubernetes.version) } }),
    containers: await obtainContainerPrograms(progress),
  },
);

const begun = new Set<string>();

/** @param now all resources that the cloud has, of which a machine's successor is made */
async function start(urn: string, now: z.output<typeof resourcesShape>): Promise<void> {
  const own = decoded.filter(({ machine }) => machine.urn === urn);
  const isFirst = begun.size === 0;
  if (!begun.has(urn)) {
    begun.add(urn);
    if (own.some(({ machine }) => machine.group !== undefined)) return await cluster.startWorkers(own);
    await cluster.startControlPlane(own, () => {});
    if (!isFirst) return;
    await cluster.startKwok();
    return cluster.startCloudController();
  }
  const wanted = cloud.update(programOf(now)).filter((machine) => machine.urn === urn);
  cloud.endUpdate();
  if (wanted.length === 0) throw new Error("the cloud has no such machine");
  for (const machine of wanted) {
    cloud.launch(machine);
    const payload = decodeUserData(machine.userData, cloud.objects(machine));
    await cluster.startLinux({ machine, payload }, machine.group === undefined);
  }
}

async function stop(urn: string) {
  for (const machine of cloud.machines.filter((each) => each.urn === urn)) {
    await cluster.powerOffMachine(machine);
    cloud.terminate(machine);
  }
}

const asked = z.object({
  urn: z.string().default(""),
  resources: resourcesShape.default([]),
  object: values.default({}),
  force: z.boolean().default(false),
  words: z.array(z.string()).default([]),
});

/** What the provider and tests ask. */
const calls: Readonly<Record<string, (of: z.output<typeof asked>) => Promise<string>>> = {
  // As from a cloud, the answer comes while it boots.
  start: async ({ urn, resources }) => {
    start(urn, resources).catch((error: unknown) => progress.line(`${urn} does not start: ${messageOf(error)}`));
    return "";
  },
  stop: async ({ urn }) => {
    await stop(urn);
    return "";
  },
  apply: async ({ object, force }) => {
    const { refused } = await applyObject(object, cluster.api, force);
    if (refused.length > 0) throw new Error(refused.join("\n"));
    return "";
  },
  kubectl: async ({ words, object }) => {
    const { code, stdout, stderr } = await cluster.kubectl(words, JSON.stringify(object));
    if (code !== 0) throw new Error(stderr);
    return stdout;
  },
  running: async () =>
    cloud.machines
      .filter(({ urn }) => begun.has(urn))
      .map(({ name }) => name)
      .join(" "),
};

createServer(async (request, response) => {
  const call = calls[request.url?.slice(1) ?? ""];
  await Promise.resolve(json(request))
    .then(async (body) => response.end(await call?.(asked.parse(body))))
    .catch((error: unknown) => response.writeHead(500).end(messageOf(error)));
})
  .on("connect", ({ url = "" }, socket, head) => {
    const [address = "", port] = url.split(":");
    tunnel(socket, head, { address, port: Number(port) });
  })
  .listen(path.join(folder, "machines"), () => progress.line("ready"));
