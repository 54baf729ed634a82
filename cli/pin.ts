import { writeFileSync } from "node:fs";
import { parseArgs } from "node:util";
import { z } from "zod";
import { type Artifact, artifactLockFile, readArtifactLock } from "../components/model/artifacts.ts";
import { defaultRelease } from "../components/model/releases.ts";
import { type Command, type ExitCode, exitCodes, type Terminal, UsageError } from "./exit.ts";
import { renderLock, withRelease } from "./pin/lock.ts";
import { messages, pinLock } from "./pin/pinLock.ts";
import { withUserFile } from "./userFiles.ts";

const help = `Usage: fenestra pin [VERSION] [options]

Asks the publishers for the digests of everything in components/model/artifacts.lock.json: what is recorded must be what they say, what is
missing is recorded. With VERSION (${defaultRelease}) the programs of that Kubernetes release are added, for every role. The lock file is written only
when nothing differs and nothing failed.

  --check           write nothing
  --only TEXT       only artifacts whose name or version contains TEXT
  --accept-moved    take the new image where a publisher has moved a tag
  --via URL         reach each publisher as URL/<host>/<path>: a mirror in place of the internet
  --timeout SECONDS until an answer must be complete. Default 20
  --lock FILE       another lock file
`;

/** `fenestra pin`. Exit code 1 when a digest differs or a publisher failed. */
export const pinCommand: Command = {
  summary: "Fetch the publishers' checksums and rewrite the lock file of artifacts",
  help,
  run: (args, terminal) => pin(args, terminal),
};

async function pin(args: readonly string[], { out, err }: Terminal): Promise<ExitCode> {
  const { values, positionals } = parseArgs({
    args: [...args],
    allowPositionals: true,
    options: {
      check: { type: "boolean", default: false },
      only: { type: "string" },
      "accept-moved": { type: "boolean", default: false },
      via: { type: "string" },
      timeout: { type: "string", default: "20" },
      lock: { type: "string" },
    },
  });
  const [version, ...others] = positionals;
  if (others.length > 0) throw new UsageError(`pin takes one version, not ${positionals.join(" ")}`);
  const file = values.lock ?? artifactLockFile;
  const before = withUserFile(`--lock ${file}`, "a lock file in the form of components/model/artifacts.lock.json", () =>
    readLock(file),
  );
  const lock = version === undefined ? before : release(before, version.replace(/^v/, ""));
  const { only } = values;
  const chosen = ({ name, version: own }: Artifact) => only === undefined || `${name} ${own}`.includes(only);
  if (only !== undefined && !lock.some(chosen))
    throw new UsageError(
      `--only ${only} is in the name or version of no artifact; allowed: a part of one, such as kubelet`,
    );
  const results = await pinLock(lock, {
    via: urlOf(values.via),
    timeoutMs: secondsOf(values.timeout) * 1000,
    acceptMoved: values["accept-moved"],
    chosen,
  });
  const text = renderLock(results.map(({ artifact }) => artifact));
  const bad = results.filter(({ outcome }) => outcome === "different" || outcome === "failed");
  for (const line of messages(results)) err(`${line}\n`);
  const count = (outcome: string) => results.filter((result) => result.outcome === outcome).length;
  out(
    `${count("verified")} verified, ${count("recorded")} recorded, ${count("moved")} moved, ${count("unverified")} without a published digest, ${count("different")} different, ${count("failed")} failed\n`,
  );
  if (bad.length > 0) {
    err("fenestra: the lock file was left as it is\n");
    return exitCodes.findings;
  }
  if (!values.check && text !== renderLock(before)) writeFileSync(file, text);
  return exitCodes.fine;
}

function readLock(file: URL | string): readonly Artifact[] {
  try {
    return readArtifactLock(file);
  } catch (error) {
    if (!(error instanceof SyntaxError || error instanceof z.ZodError)) throw error;
    throw new UsageError(
      `--lock ${file} is not a lock file of artifacts; allowed: the form of ${artifactLockFile.pathname.split("/").slice(-3).join("/")}`,
    );
  }
}

function release(lock: readonly Artifact[], version: string): readonly Artifact[] {
  try {
    return withRelease(lock, version);
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
    throw new UsageError(error.message);
  }
}

function urlOf(text: string | undefined): string | undefined {
  if (text !== undefined && !/^https?:$/.test(URL.parse(text)?.protocol ?? ""))
    throw new UsageError(`--via ${text} is not a URL; allowed: one such as https://mirror.example.com`);
  return text;
}

function secondsOf(text: string): number {
  const seconds = Number(text);
  if (!(seconds > 0)) throw new UsageError(`--timeout ${text} is not a number of seconds; allowed: one such as 20`);
  return seconds;
}
