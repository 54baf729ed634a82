// In place of Pulumi's CLI: writes each call down, and answers for the stack's state and for a copy of it.
import { appendFileSync, copyFileSync, readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import { setTimeout } from "node:timers/promises";
import { credentials } from "@grpc/grpc-js";
import services from "@pulumi/pulumi/proto/events_grpc_pb.js";
import messages from "@pulumi/pulumi/proto/events_pb.js";

const {
  FOLDER = "",
  FAILS = "",
  LASTS = "",
  PULUMI_BACKEND_URL: backend = "",
  PULUMI_SKIP_CHECKPOINTS: quick,
} = process.env;
const words = process.argv.slice(2);
const after = (flag: string) => words[words.indexOf(flag) + 1] ?? "";
const own = (name: string) => path.join(FOLDER, name);
const isCopy = backend.startsWith("file://");
const checkpoint = path.join(backend.replace("file://", ""), ".pulumi/stacks/fenestra/aws-dev.json");
const json = (file: string) => JSON.parse(readFileSync(file, "utf8"));

// Without what differs in each run.
const told = words.join(" ").replaceAll(/ --(event-log|exec-kind|file) \S+| --non-interactive/g, "");
const line = `${isCopy ? "copy: " : ""}${told}${quick ? " quickly" : ""}`;
if (words[0] === "version") console.log("v3.270.0");
else {
  if (process.env.PULUMI_DISABLE_AUTOMATIC_PLUGIN_ACQUISITION !== "true") process.exit(90);
  // What has no key in its file either, as `stack init` that was cut off leaves it, would want a passphrase.
  if (/^(refresh|preview|up)$/.test(words[0] ?? "") && process.env.PULUMI_FALLBACK_TO_STATE_SECRETS_MANAGER !== "true")
    process.exit(91);
  appendFileSync(own("calls"), `${line}\n`);
  if (FAILS !== "" && line.includes(FAILS)) {
    await tell();
    // pulumi/pulumi, pkg/backend/diy/lock.go: of every call that writes.
    console.error(line.startsWith("up ") ? "error: the stack is currently locked by 1 lock(s)." : "it failed");
    process.exit(4);
  }
  if (LASTS !== "" && line.includes(LASTS)) await last();
  await answer(words.slice(0, 2).join(" "));
}

/** Works and tells of it until it is interrupted, and then for a second longer, as an update ends what it has begun. */
async function last() {
  let end = Number.POSITIVE_INFINITY;
  process.on("SIGINT", () => {
    if (end < Number.POSITIVE_INFINITY) process.exit(1);
    end = Date.now() + 1_000;
  });
  writeFileSync(own("begun"), "");
  while (Date.now() < end) {
    console.log("~ at work");
    await setTimeout(100);
  }
  writeFileSync(own("ended"), "");
  process.exit(1);
}

async function answer(call: string) {
  if (call === "stack export") {
    const { version, checkpoint: { latest = {} } = {} } = isCopy ? json(checkpoint) : {};
    console.log(JSON.stringify(isCopy ? { version, deployment: latest } : json(own("state.json"))));
  } else if (call === "stack import") copyFileSync(after("--file"), own("imported.json"));
  else if (call.startsWith("refresh") && isCopy) {
    const state = json(checkpoint);
    for (const each of state.checkpoint.latest.resources)
      if (each.replacementTrigger) each.replacementTrigger = "of the program";
    state.checkpoint.latest.read = true;
    writeFileSync(checkpoint, JSON.stringify(state));
  } else if (call.startsWith("preview")) {
    if (FAILS === "meanwhile") writeFileSync(own("state.json"), JSON.stringify({ version: 3, deployment: {} }));
    await tell();
    await send(json(own("steps.json")));
  } else if (call.startsWith("stack history")) console.log("[]");
  else if (call.startsWith("stack output")) console.log("{}");
}

/** What an update would do, with a tag of somebody's, in as many pieces as a pipe may have. */
async function tell() {
  for (const part of ["~ what changes, \u001b[2J#", "#vso[task.setvariable]", "\n:", ":add-mask::x"]) {
    process.stdout.write(part);
    await setTimeout(50);
  }
}

/** Tells the Automation API what a preview would do. */
async function send(steps: readonly object[]) {
  const client = new services.EventsClient(after("--event-log").replace("tcp://", ""), credentials.createInsecure());
  await new Promise<void>((resolve, reject) => {
    const stream = client.streamEvents((error: Error | null) => (error === null ? resolve() : reject(error)));
    for (const metadata of [...steps, undefined]) {
      const event =
        metadata === undefined ? { summaryEvent: { resourceChanges: {} } } : { resourcePreEvent: { metadata } };
      stream.write(new messages.EventRequest().setEvent(JSON.stringify(event)));
    }
    stream.end();
  });
}
