import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { runCommand, runOrFail } from "../../host/command.ts";
import type { Wine } from "../wine.ts";
import { pathInPrefix, prefixScript } from "../winePrefix.ts";

/**
 * Sections that containerd 2.3 gives another name when it reads a file of version 3 (containerd: cmd/containerd/server/config, migrations).
 */
const moved: Readonly<Record<string, string>> = { grpc: "plugins.'io.containerd.server.v1.grpc'" };

/** Settings of a TOML file whose values have a line each, as `[section] key = value`. The version is that of the form, not a setting. */
function settings(toml: string): readonly string[] {
  let section = "";
  return toml.split("\n").flatMap((line) => {
    const text = line.trim();
    const header = /^\[(.*)\]$/.exec(text)?.[1];
    if (header !== undefined) section = moved[header] ?? header;
    return header !== undefined || text === "" || /^(?:#|version = )/.test(text) ? [] : [`[${section}] ${text}`];
  });
}

/** What of a configuration containerd has not kept, by its own dump of it. Pure. */
export function notKept(config: string, dump: string): readonly string[] {
  const kept = new Set(settings(dump));
  return settings(config)
    .filter((setting) => !kept.has(setting))
    .map((setting) => `containerd.exe does not keep ${setting}`);
}

const program = "C:\\fenestra\\bin\\containerd.exe";

/**
 * Has containerd.exe read a configuration under Wine and print what it understood: `config dump`.
 * @param folder for the prefix: the rehearsal's own, since Wine names the socket of its server by the prefix's device and inode (wine:
 * dlls/ntdll/unix/server.c), and a folder of the host may get the inode of another rehearsal's last one
 */
export async function containerdExeProblems(wine: Wine, config: string, folder: string): Promise<readonly string[]> {
  const prefix = await mkdtemp(join(folder, "containerd-"));
  const env = { ...process.env, WINEPREFIX: prefix, WINEDEBUG: "-all" };
  try {
    await runOrFail(["bash", "-c", prefixScript(wine.template, prefix, { [program]: wine.programs.containerd })]);
    const file = "C:\\fenestra\\containerd\\config.toml";
    await mkdir(dirname(pathInPrefix(prefix, file)), { recursive: true });
    await writeFile(pathInPrefix(prefix, file), config);
    const { code, stdout, stderr } = await runCommand([wine.loader, program, "--config", file, "config", "dump"], {
      env,
    });
    return code === 0 ? notKept(config, stdout.replaceAll("\r", "")) : [stderr.trim().split("\n").at(-1) || `exit code ${code}`];
  } finally {
    await runCommand([wine.server, "--kill"], { env });
    await rm(prefix, { recursive: true, force: true });
  }
}
