import { createHash } from "node:crypto";
import { existsSync } from "node:fs";
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { z } from "zod";
import type { Cloud } from "../../components/config/schema.ts";
import type { ImageName } from "../../components/kubernetes/images.ts";
import { defaultRelease, minorOf, namedVersions, requireMinorFacts } from "../../components/model/releases.ts";
import { findOnPath, runOrFail } from "../host/command.ts";
import { RehearsalError } from "../host/errors.ts";
import type { Progress } from "../host/progress.ts";
import { GoMissing } from "./atHand.ts";
import { buildPrograms } from "./build.ts";
import { defaultCache, goArch } from "./cache.ts";

/** An add-on's program that is built from its own module, with the versions that the module's go.mod names. */
export interface AddOnProgram {
  readonly name: string;
  /** Repository of the image that holds it; with its tag where kubeadm chooses the version by its own. */
  readonly image: ImageName | `registry.k8s.io/coredns/coredns:${string}`;
  /** Where it lies in the image; that is the image's entry point too (its Dockerfile). */
  readonly path: string;
  /** User that the image names. */
  readonly user: number;
  /** Module; its version is the image's. */
  readonly module: string;
  /** What the module's files of that version must add up to, as a go.sum has it. */
  readonly sum: string;
  readonly goPackage: string;
  /** Further files of the image that it reads: path there to path in the module. Default: none. */
  readonly files?: Readonly<Record<string, string>>;
  /** The only cloud on which stacks have it. Default: both do. */
  readonly cloud?: Cloud;
  /** About how long a first build takes on two processors, in seconds. */
  readonly buildSeconds: number;
  /** Path of its readiness without what not every host can measure for it. */
  readonly unmeasured?: string;
}

/** Name of the program that initialises nodes on Azure, one on each. */
export const nodeManager = "cloud-node-manager";

/**
 * Programs that `--real-add-ons` runs. Of what is missing, most has no module of the image's version that every module
 * proxy serves: cluster-autoscaler, the cloud controllers, azuredisk, smbplugin, the gMSA webhook,
 * node-driver-registrar, livenessprobe.
 */
export const addOnPrograms: readonly AddOnProgram[] = [
  {
    name: "metrics-server",
    image: "registry.k8s.io/metrics-server/metrics-server",
    path: "/metrics-server",
    user: 65534,
    module: "sigs.k8s.io/metrics-server",
    sum: "h1:nlqqZ2H0Xfko8eJC/1qaNVVT17hu4rxndkOi22KTZ4w=",
    goPackage: "./cmd/metrics-server",
    buildSeconds: 110,
    unmeasured: "/readyz?exclude=metric-storage-ready",
  },
  {
    name: "aws-ebs-csi-driver",
    image: "registry.k8s.io/provider-aws/aws-ebs-csi-driver",
    path: "/bin/aws-ebs-csi-driver",
    user: 0,
    module: "github.com/kubernetes-sigs/aws-ebs-csi-driver",
    sum: "h1:fWvOYJ9DgkSS8G49r2ShJl2F/6Ukkaj16qZUtFlXfvs=",
    goPackage: "./cmd",
    cloud: "aws",
    buildSeconds: 100,
  },
  {
    name: "csi-attacher",
    image: "registry.k8s.io/sig-storage/csi-attacher",
    path: "/csi-attacher",
    user: 0,
    module: "github.com/kubernetes-csi/external-attacher/v4",
    sum: "h1:HTz7b7dXnJ2SzNJVp82/gWlloxqNpMW6lSIg7d5olps=",
    goPackage: "./cmd/csi-attacher",
    cloud: "aws",
    buildSeconds: 60,
  },
  {
    name: "csi-resizer",
    image: "registry.k8s.io/sig-storage/csi-resizer",
    path: "/csi-resizer",
    user: 0,
    module: "github.com/kubernetes-csi/external-resizer/v2",
    sum: "h1:WkJDX324peM09nCwDlARzNM7jIF3zt8hp+LWXnhuDZ0=",
    goPackage: "./cmd/csi-resizer",
    cloud: "aws",
    buildSeconds: 60,
  },
  {
    name: nodeManager,
    image: "mcr.microsoft.com/oss/v2/kubernetes/azure-cloud-node-manager",
    path: "/usr/local/bin/cloud-node-manager",
    user: 65532,
    module: "sigs.k8s.io/cloud-provider-azure",
    sum: "h1:Nmo/NdjJuYFH/NMHSFvCHjvWJwya9B2Z//f2ZIw2Hg8=",
    goPackage: "./cmd/cloud-node-manager",
    cloud: "azure",
    buildSeconds: 150,
  },
  {
    name: "node-exporter",
    image: "quay.io/prometheus/node-exporter",
    path: "/bin/node_exporter",
    user: 65534,
    module: "github.com/prometheus/node_exporter",
    sum: "h1:5PIaixeIW9WYDAymngAK2Ucg3yHbnbG2Fz5VZuoMgj4=",
    goPackage: ".",
    buildSeconds: 15,
  },
  {
    name: "node-problem-detector",
    image: "registry.k8s.io/node-problem-detector/node-problem-detector",
    path: "/node-problem-detector",
    user: 0,
    module: "k8s.io/node-problem-detector",
    sum: "h1:2Dxx80GmUiEplFZbdIPKp3VIeuP7RY1hvtEzbRZVkiY=",
    goPackage: "./cmd/nodeproblemdetector",
    files: {
      "/config/kernel-monitor.json": "config/kernel-monitor.json",
      "/config/readonly-monitor.json": "config/readonly-monitor.json",
    },
    buildSeconds: 60,
  },
  {
    name: "coredns",
    image: `registry.k8s.io/coredns/coredns:${requireMinorFacts(defaultRelease).coredns}`,
    path: "/coredns",
    user: 65532,
    module: "github.com/coredns/coredns",
    sum: "h1:L6ECLwm4Fjg7NJamtGBFDBjk/uqvCJjfgAEhrxh5zJo=",
    goPackage: ".",
    buildSeconds: 120,
  },
];

/** Release of a program from its image's version: who builds the image anew adds something to it. */
function releaseOf(version: string): string {
  return `v${version.replace(/-(?:eksbuild\.\d+|windows-.+|\d+)$/, "")}`;
}

/** The version of an image at the default release's minor. */
const known = (image: string | undefined): string =>
  namedVersions(undefined, minorOf(defaultRelease)).find(({ name }) => name === image)?.version ?? "";

/** A program's module with the version of its image. */
export function moduleOf({ module, image }: AddOnProgram): string {
  const [name, tag] = image.split(":");
  return `${module}@${tag ?? releaseOf(known(name))}`;
}

/** The program of a container's image. */
export function programOf(reference: string): AddOnProgram | undefined {
  return addOnPrograms.find(({ image }) => reference === image || reference.startsWith(`${image}:`));
}

const downloaded = z.looseObject({ Dir: z.string(), Sum: z.string() });

/**
 * Builds the add-ons' programs that are not in the cache.
 * @throws RehearsalError when there is no Go, when a module cannot be had or is another one, or when a build fails
 */
export async function obtainAddOnPrograms(cloud: Cloud, progress: Progress): Promise<void> {
  const missing = programsOn(cloud).filter((program) => !existsSync(fileOf(program)));
  for (const program of missing) await buildOne(program, fileOf(program), progress);
}

/** Where the programs lie once they are built, by name. */
export function addOnFiles(cloud: Cloud): ReadonlyMap<string, string> {
  return new Map(programsOn(cloud).map((program) => [program.name, fileOf(program)]));
}

function programsOn(cloud: Cloud): readonly AddOnProgram[] {
  return addOnPrograms.filter(({ cloud: only = cloud }) => only === cloud);
}

function fileOf(program: AddOnProgram): string {
  const { name, module, sum, goPackage, files } = program;
  const key = createHash("sha256").update(
    JSON.stringify([module, sum, goPackage, goArch(process.arch), ...(files === undefined ? [] : [files])]),
  );
  return join(defaultCache(), key.digest("hex").slice(0, 16), name);
}

async function buildOne(program: AddOnProgram, file: string, progress: Progress): Promise<void> {
  const { name, sum, goPackage, buildSeconds } = program;
  const module = moduleOf(program);
  const withoutGo = () =>
    new GoMissing(`Go, which builds ${name} from ${module}, is not on PATH.`, ["leave --real-add-ons out"]);
  const go = await findOnPath("go", process.env.PATH ?? "");
  if (go === undefined) throw withoutGo();
  const answer = await runOrFail([go, "mod", "download", "-json", module], { timeoutMs: 300_000 });
  const source = downloaded.parse(JSON.parse(answer));
  if (source.Sum !== sum)
    throw new RehearsalError(`${module} is ${source.Sum}, wanted is ${sum}.`, ["look at what has changed upstream"]);
  await mkdir(dirname(file), { recursive: true });
  for (const place of Object.values(program.files ?? {}))
    await writeFile(join(dirname(file), basename(place)), await readFile(join(source.Dir, place)));
  const builds = [{ name, file, goPackage, buildSeconds }];
  await buildPrograms(builds, { folder: source.Dir, label: module, arch: goArch(process.arch), progress, withoutGo });
}
