import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { podSpec } from "../../components/kubernetes/manifest.ts";
import { skipIf } from "../support/skip.ts";
import { combinations, manifestsOf } from "./switches.ts";

/** How a container starts its program. */
interface CommandLine {
  readonly image: string;
  /** Program in place of the image's own entry point. */
  readonly entry: string | undefined;
  readonly args: readonly string[];
}

/** Programs that are no Go programs of an add-on. */
const others = ["powershell.exe", "cmd.exe", "cp", "sh"];

/** A Windows container counts as its image's Linux build, which reads flags by the same code. */
function commandLines(): readonly CommandLine[] {
  const everythingOn = combinations.filter(({ title }) => title.endsWith("everything on"));
  const lines = everythingOn.flatMap(({ spec }) =>
    manifestsOf(spec).flatMap((manifest): readonly CommandLine[] => {
      const pod = podSpec(manifest);
      const windows = pod?.nodeSelector?.["kubernetes.io/os"] === "windows";
      return [...(pod?.initContainers ?? []), ...(pod?.containers ?? [])].flatMap(
        ({ image, command = [], args = [] }) => {
          const [entry, ...rest] = command.map(String);
          const line = {
            image: String(image),
            entry: windows ? undefined : entry,
            args: [...rest, ...args.map(String)],
          };
          const foreign = others.includes(entry ?? "") || /windows|nanoserver/.test(line.image);
          return foreign || line.args.length === 0 ? [] : [line];
        },
      );
    }),
  );
  return [...new Map(lines.map((line) => [JSON.stringify(line), line])).values()];
}

/** What a program has against its flags, which it reads up to `--help`. */
function refusal({ image, entry, args }: CommandLine): string | undefined {
  const argv = ["run", "--rm", ...(entry === undefined ? [] : ["--entrypoint", entry]), image, ...args, "--help"];
  const { stdout, stderr, status, error } = spawnSync("docker", argv, { encoding: "utf8", timeout: 300_000 });
  // 125 is docker's own failure: the image cannot be pulled.
  if (error !== undefined || status === 125) throw error ?? new Error(stderr);
  // The words of the standard library, pflag and kingpin.
  const said =
    /^.*(?:flag provided but not defined|unknown (?:long |short |shorthand )?flag|invalid (?:boolean )?(?:value|argument)).*$/im;
  return said.exec(stdout + stderr)?.[0];
}

describe("command lines of add-ons", function () {
  this.timeout(30 * 60_000);
  before(function () {
    const { status } = spawnSync("docker", ["version"], { stdio: "ignore" });
    skipIf(this, status === 0 ? undefined : "there is no docker, which would run the add-ons' images");
  });

  const lines = commandLines();
  it("are found", () => assert.ok(lines.length > 20, `${lines.length} command lines`));

  for (const line of lines)
    it(`${line.image} ${line.args.join(" ")}`, () => {
      assert.equal(refusal(line), undefined);
      assert.notEqual(refusal({ ...line, args: [...line.args, "--no-such-flag"] }), undefined, "it takes any flag");
    });
});
