import type { NodeSettings } from "../../model/nodeSettings.ts";
import type { WindowsPool } from "../../model/pools.ts";
import { containerdPaths } from "../containerd.ts";
import { isTrustFile, type PayloadFile } from "../payload.ts";
import { registryConfigDir } from "../registryMirrors.ts";
import { windowsPaths, windowsScript } from "./paths.ts";
import { bakedStages, stagesOf, stageWaves } from "./stages.ts";
import { unpacking } from "./userData.ts";
import { readWindowsScript } from "./worker.ts";

interface BakeArgs {
  readonly spec: NodeSettings;
  readonly pool: WindowsPool;
  /** What a machine of the pool receives. */
  readonly files: readonly Pick<PayloadFile, "path" | "content">[];
  /** Version of Fenestra. */
  readonly product: string;
  /** The vendor's image that it starts from, in words. */
  readonly base: string;
  /** Container images to pull, with digests. */
  readonly images: readonly string[];
}

/** What a machine was given or makes of its own; the records of its stages come last. */
function removed(files: readonly string[], ofNetwork: readonly string[]): readonly string[] {
  return [
    ...files,
    windowsScript("scripts.json"),
    windowsPaths.node,
    `${windowsPaths.root}\\trust`,
    `${windowsPaths.root}\\own`,
    `${windowsPaths.root}\\containerd`,
    windowsPaths.kubernetes,
    windowsPaths.cniConf,
    windowsPaths.kubeletState,
    "C:\\var\\lib\\cni",
    "C:\\var\\lib\\fenestra",
    ...ofNetwork,
    registryConfigDir.windows,
    containerdPaths.windows.state,
    // It names an installation of containerd.
    `${containerdPaths.windows.root}\\io.containerd.grpc.v1.introspection\\uuid`,
    "C:\\ProgramData\\Microsoft\\Windows\\HNS\\HNS.data",
    // Answers of an earlier provisioning (hashicorp/packer#3575), and its custom data.
    "C:\\Windows\\System32\\Sysprep\\unattend.xml",
    "C:\\Windows\\Panther",
    "C:\\AzureData",
    windowsPaths.logs,
    windowsPaths.state,
  ];
}

/** The input of bake.ps1 beside a node's own: `bake` in its `machine.json`. */
export function bakeData({ spec, pool, files, product, base, images }: BakeArgs) {
  const { windows } = spec.kubernetes.podNetwork;
  return {
    product,
    base,
    images,
    waves: stageWaves(bakedStages(stagesOf(spec, pool))),
    trust: files.filter(isTrustFile).map(({ path }) => path),
    remove: removed([...files.map(({ path }) => path), windowsScript("bake.ps1")], windows.protectedFolders),
    extensions: "C:\\Packages\\Plugins",
    generalize: spec.facts.machines.windows.generalize,
  };
}

/**
 * A script that makes a machine the source of an image for a pool: `bake.ps1`, to be run again after a restart where it
 * ends with 3010; `bake.ps1 -Seal`, without and with `-Sysprep`, takes away what is one machine's own. It holds all
 * that it runs, and no secret.
 */
export function bakeScript(args: BakeArgs): string {
  const entry = windowsScript("bake.ps1");
  const files = args.files.map(({ path, content }) => {
    if (path !== windowsPaths.machine) return { path, content };
    const machine: Readonly<Record<string, unknown>> = JSON.parse(content);
    return { path, content: JSON.stringify({ ...machine, bake: bakeData(args) }) };
  });
  const own = { path: entry, content: readWindowsScript("bake.ps1", args.spec.kubernetes.podNetwork) };
  return [
    "param([switch]$Seal,[switch]$Sysprep)",
    ...unpacking([...files, own], entry),
    "$o=@();if($Seal){$o+='-Seal'};if($Sysprep){$o+='-Sysprep'}",
    "powershell.exe -NoProfile -NonInteractive -ExecutionPolicy Bypass -File $a.entry @o",
    "$c=$LASTEXITCODE",
    // It names the cluster too.
    "if($Seal -and -not $c){Remove-Item $PSCommandPath}",
    "exit $c",
    "",
  ].join("\n");
}
