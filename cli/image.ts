import { loadConfig } from "../components/config/load.ts";
import { imageProblems } from "../components/config/rules/machines.ts";
import { bakeScript } from "../components/machine/windows/bake.ts";
import { windowsImage } from "../components/model/artifacts.ts";
import { clusterSpec } from "../components/model/clusterSpec.ts";
import { hasCredentials } from "../components/model/nodeSettings.ts";
import type { WindowsPool } from "../components/model/pools.ts";
import { pauseImage } from "../components/model/releases.ts";
import project from "../package.json" with { type: "json" };
import type { Plan, PlanMachine } from "../plan/plan.ts";
import { imagesIn } from "../plan/program/recorded.ts";
import { makePlan } from "../plan/report/makePlan.ts";
import { commandOf, type ExitCode, exitCodes, requireFolder, several, type Terminal, UsageError } from "./exit.ts";
import { builders, readme } from "./image/builders.ts";
import { writePlan } from "./plan.ts";
import { readStack, stackChoices, stackCommand } from "./project.ts";

const declaration = stackCommand()
  .description(
    "Writes what a builder of images runs to make one for a Windows pool: bake.ps1, a Packer template and a README. Fenestra itself builds none. Such an image only saves time: a machine's user data decides what is on it. Needs no network.",
  )
  .option("--pool <POOL>", "the pool, by its name in the stack file")
  .requiredOption("--out <DIR>", "folder to write to; it is made when it is not there")
  .option("--base <IMAGE>", "the vendor's image to begin with, in place of the pool's")
  .option("--pull <IMAGE>", "one more container image to pull, with its digest; may be repeated", several);

export const command = commandOf(declaration, image, {
  codes: { 1: "the program fails" },
  complete: { stack: stackChoices },
});

async function image(values: ReturnType<typeof declaration.opts>, terminal: Terminal): Promise<ExitCode> {
  const { out, err, progress } = terminal;
  const { stack, config } = readStack("image", values, terminal);
  const { spec, pool, base, pull } = asked(values, stack, config);
  progress(`planning ${stack}`);
  const plan = await makePlan({ stack, config });
  const builder = builders[spec.cloud];
  const vendors = builder.vendors(pool, base);
  const images = [
    ...new Set([
      pauseImage(spec.artifacts, spec.kubernetes.version),
      windowsImage(spec.artifacts, "servercore", pool.release),
      windowsImage(spec.artifacts, "nanoserver", pool.release),
      ...ownImages(plan),
      ...pull,
    ]),
  ].toSorted();
  const pulled = images.filter((reference) => reference.includes("@sha256:"));
  const files = filesOf(plan, pool);
  const script = bakeScript({ spec, pool, files, product: project.version, base: vendors, images: pulled });
  const build = { spec, pool, base };
  const written = [
    { path: "bake.ps1", content: script },
    { path: "bake.pkr.json", content: `${JSON.stringify(builder.template(build), null, 2)}\n` },
    { path: "README.md", content: readme(build, vendors, pulled) },
  ];
  writePlan(values.out, written);
  out(`${written.map(({ path }) => path).join(", ")} in ${values.out}\n`);
  if (pulled.length < images.length)
    err(`not pulled, without a digest: ${images.filter((reference) => !pulled.includes(reference)).join(", ")}\n`);
  return exitCodes.fine;
}

/** @throws UsageError when the options ask for what cannot be made */
function asked(
  { pull = [], ...values }: ReturnType<typeof declaration.opts>,
  stack: string,
  config: Readonly<Record<string, string>>,
) {
  const loaded = loadConfig(config);
  const spec = clusterSpec(loaded);
  const windows = loaded.pools.flatMap(({ name, os }) => (os === "linux" ? [] : [name]));
  const index = loaded.pools.findIndex(({ name }) => name === values.pool);
  const pool = spec.pools.find(({ path }) => path === `config.fenestra:pools[${index}]`);
  if (pool?.os !== "windows")
    throw new UsageError(`--pool ${values.pool ?? ""} is no Windows pool of ${stack}; allowed: ${windows.join(", ")}`);
  requireFolder("--out", values.out);
  if (hasCredentials(spec.credentials))
    throw new UsageError(
      "the stack has proxyCredentials or registryCredentials, and the machine of a builder gets no secret; allowed: a mirror or a proxy without a login",
    );
  const base = values.base ?? pool.image;
  const [wrong] = imageProblems(spec.cloud, base, "--base");
  if (wrong !== undefined) throw new UsageError(`--base ${base} ${wrong.message}; allowed: ${wrong.allowed}`);
  if (base.startsWith("/"))
    throw new UsageError(`the pool's image ${base} is one of your own; allowed: --base with a version of the vendor's`);
  const bare = pull.filter((reference) => !/@sha256:[0-9a-f]{64}$/.test(reference));
  if (bare.length > 0)
    throw new UsageError(
      `--pull ${bare.join(", ")} has no digest; allowed: a reference that ends in @sha256:<64 digits>`,
    );
  return { spec, pool, base, pull };
}

function filesOf({ machines }: Plan, { name }: WindowsPool): PlanMachine["files"] {
  const found = machines.find(({ role, files }) =>
    files.some(
      ({ path, content }) => role === "windows" && path.endsWith("\\machine.json") && JSON.parse(content).pool === name,
    ),
  );
  if (found === undefined) throw new RangeError(`the plan has no machine of the pool ${name}`);
  return found.files;
}

/** Images of the DaemonSets for Windows. */
function ownImages({ resources }: Plan): readonly string[] {
  return resources
    .filter(
      ({ type, inputs }) => type.endsWith(":DaemonSet") && /"kubernetes.io\/os":"windows"/.test(JSON.stringify(inputs)),
    )
    .flatMap(({ inputs }) => imagesIn(inputs));
}
