import { appendFileSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import path from "node:path";
import type { Cloud } from "../../components/config/schema.ts";
import { harmless } from "../../components/model/messages.ts";
import project from "../../package.json" with { type: "json" };
import { ownFolder, type Terminal, withUserFile } from "../exit.ts";
import { ownPackages } from "./places.ts";
import { pulumiLine, type Session } from "./session.ts";
import type { Step } from "./steps.ts";

// Parts of `up` for a pipeline, each in a job with rights of its own. None asks.

/** Arguments of `pulumi` that fetch the plug-ins of a cloud. It tries each five times itself (its workspace/plugins.go). */
function pluginCalls(cloud: Cloud): readonly (readonly string[])[] {
  const others = ["pulumi", ...Object.values(ownPackages).filter((name) => name !== ownPackages[cloud])];
  return Object.entries(project.dependencies).flatMap(([dependency, version]) => {
    const [, name] = /^@pulumi\/(.+)$/.exec(dependency) ?? [];
    return name === undefined || others.includes(name) ? [] : [["plugin", "install", "resource", name, version]];
  });
}

export function pluginsStep({ spec, engine }: Session): Step {
  const calls = pluginCalls(spec.cloud);
  return {
    id: "plugins",
    title: `Pulumi's plug-ins for ${spec.cloud}`,
    byHand: calls.map((words) => pulumiLine(...words)),
    run: async () => {
      for (const words of calls) await engine.call(words);
    },
  };
}

const inFolder = (folder: string) => ({
  text: path.join(folder, "preview.txt"),
  operations: path.join(folder, "operations.txt"),
});

/** Writes what an update would do, for people and for {@link approvedIn}; neither where nothing would change. */
export function writtenStep({ stack, engine }: Session, folder: string, { out }: Terminal): Step {
  return {
    id: "preview",
    title: "What an update would do",
    byHand: [`PULUMI_SKIP_CHECKPOINTS=true ${pulumiLine("preview", "--stack", stack, "--diff")}`],
    run: async () => {
      const { text, operations } = inFolder(folder);
      withUserFile(`--preview ${folder}`, ownFolder, () => {
        mkdirSync(folder, { recursive: true });
        for (const file of [text, operations]) rmSync(file, { force: true });
      });
      const look = await engine.look((part) => {
        out(part);
        appendFileSync(text, harmless(part));
      });
      if (look.operations.length > 0) {
        writeFileSync(operations, `${look.operations.join("\n")}\n`);
        return undefined;
      }
      rmSync(text, { force: true });
      return "nothing would change";
    },
  };
}

/** What a preview has written into a folder. @throws UsageError where none has */
export const approvedIn = (folder: string): readonly string[] =>
  withUserFile(`--approved ${folder}`, "a folder that up --preview has written, where something would change", () =>
    readFileSync(inFolder(folder).operations, "utf8").trim().split("\n"),
  );

export function driftStep({ engine }: Session, { out }: Terminal): Step {
  return {
    id: "drift",
    title: "Whether the cloud is as recorded",
    byHand: [pulumiLine(...engine.comparison)],
    run: async () => {
      if ((await engine.state()).length === 0) return "no update yet: nothing to read";
      await engine.call(engine.comparison, out);
      return undefined;
    },
  };
}
