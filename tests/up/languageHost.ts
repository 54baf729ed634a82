import { type ChildProcess, spawn } from "node:child_process";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { Server, ServerCredentials, type ServerUnaryCall, type sendUnaryData } from "@grpc/grpc-js";
import services from "@pulumi/pulumi/proto/language_grpc_pb.js";
import messages from "@pulumi/pulumi/proto/language_pb.js";
import plugin from "@pulumi/pulumi/proto/plugin_pb.js";
import empty from "google-protobuf/google/protobuf/empty_pb.js";

/**
 * In place of Pulumi's language host for Node, which no module has: runs the program with Pulumi's own launcher, as that
 * does (pulumi/pulumi: sdk/nodejs/cmd/pulumi-language-nodejs/main.go). The CLI starts it, and reads its port.
 */
const engine = process.argv.at(-1) ?? "";
const launcher = fileURLToPath(import.meta.resolve("@pulumi/pulumi/cmd/run/index.js"));

/** Programs that hear of a Ctrl-C by the engine. */
const running = new Set<ChildProcess>();

/** The launcher's code of an error that it has told already. */
const told = 32;

function run(request: messages.RunRequest, answered: (error: Error | null, answer: messages.RunResponse) => void) {
  const info = request.getInfo();
  const options = {
    monitor: request.getMonitorAddress(),
    engine,
    project: request.getProject(),
    stack: request.getStack(),
    pwd: request.getPwd(),
    parallel: request.getParallel(),
    organization: request.getOrganization(),
    "root-directory": info?.getRootDirectory(),
    ...(request.getDryrun() && { "dry-run": "true" }),
  };
  const words = Object.entries(options).map(([name, value]) => `--${name}=${value}`);
  const entry = path.join(info?.getProgramDirectory() ?? "", info?.getEntryPoint() ?? "");
  const child = spawn(process.execPath, [launcher, ...words, entry], {
    stdio: ["ignore", "ignore", "inherit"],
    env: {
      ...process.env,
      PULUMI_CONFIG: JSON.stringify(Object.fromEntries(request.getConfigMap().entries())),
      PULUMI_CONFIG_SECRET_KEYS: JSON.stringify(request.getConfigsecretkeysList()),
    },
  });
  running.add(child);
  child.on("close", (code) => {
    running.delete(child);
    const answer = new messages.RunResponse();
    if (code === told) answer.setBail(true);
    else if (code !== 0) answer.setError(`the program ended with ${code}`);
    answered(null, answer);
  });
}

const server = new Server();
server.addService(services.LanguageRuntimeService, {
  getRequiredPlugins: (_: unknown, callback: sendUnaryData<messages.GetRequiredPluginsResponse>) =>
    callback(null, new messages.GetRequiredPluginsResponse()),
  getPluginInfo: (_: unknown, callback: sendUnaryData<plugin.PluginInfo>) =>
    callback(null, new plugin.PluginInfo().setVersion("1.0.0")),
  run: (
    { request }: ServerUnaryCall<messages.RunRequest, messages.RunResponse>,
    callback: sendUnaryData<messages.RunResponse>,
  ) => run(request, callback),
  cancel: (_: unknown, callback: sendUnaryData<empty.Empty>) => {
    for (const child of running) child.kill("SIGINT");
    callback(null, new empty.Empty());
  },
});
server.bindAsync("127.0.0.1:0", ServerCredentials.createInsecure(), (_, port) => process.stdout.write(`${port}\n`));
