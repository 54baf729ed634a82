// Sees what nothing faster does: what cloud-init and systemd say of the files of a Linux machine.
import assert from "node:assert/strict";
import { basename } from "node:path";
import { type DecodedFile, decodeUserData } from "../../plan/decode/userData.ts";
import { collectMachines } from "../../plan/fakes/cloud.ts";
import { findOnPath } from "../../rehearsal/host/command.ts";
import * as readers from "../../rehearsal/programs/checkers.ts";
import { runStack } from "../support/mocks.ts";
import { skipIf } from "../support/skip.ts";

const { program } = await runStack("azure-dev");

type Read = (program: string, files: readonly DecodedFile[], source: string) => Promise<readonly string[]>;

interface Reader {
  /** Program of the host, with the package that has it. */
  readonly needs: readonly [name: string, debianPackage: string];
  /** What is wrong with the files, or with the user data, of a Linux machine. */
  readonly read: Read;
  /** A mistake in a file, or in the user data where there is no path, and what is said of it. */
  readonly mistakes: readonly (readonly [path: string | undefined, from: string | RegExp, to: string, says: RegExp])[];
}

const units = (files: readonly DecodedFile[]) =>
  files
    .filter(({ path }) => path.startsWith("/etc/systemd/system/"))
    .map(({ path, content }) => ({ name: basename(path), text: content }));
const kubelet = "/etc/systemd/system/kubelet.service";

/** Programs that read the files of a Linux machine. */
const table: Readonly<Record<string, Reader>> = {
  "cloud-init": {
    needs: ["cloud-init", "cloud-init"],
    read: (program, _, source) => readers.cloudInitProblems(program, source),
    mistakes: [[undefined, "permissions:", "permission:", /'permission' was unexpected/]],
  },
  systemd: {
    needs: ["systemd-analyze", "systemd"],
    read: (program, files) => readers.unitProblems(program, units(files)),
    mistakes: [
      [kubelet, "RestartSec=10", "RestartSeconds=10", /^kubelet\.service:\d+: Unknown key .*'RestartSeconds'/m],
    ],
  },
};

describe("the files of Linux machines", function () {
  this.timeout(120_000);
  const machines = collectMachines(program).flatMap(({ name, userData }) =>
    /control-plane-0|linux-group\[0\]/.test(name) ? [{ name, ...decodeUserData(userData) }] : [],
  );

  it("are of a control-plane machine and a worker", () => assert.equal(machines.length, 2));

  for (const [name, { needs, read, mistakes }] of Object.entries(table))
    it(`are right to ${name}, which finds a mistake`, async function () {
      const program = await findOnPath(needs[0], process.env.PATH ?? "");
      if (program === undefined) skipIf(this, `${needs[0]} is not installed: apt-get install ${needs[1]}`);
      for (const { name: machine, files, source } of machines) {
        assert.deepEqual(await read(program ?? "", files, source), [], machine);
        for (const [path, from, to, says] of mistakes) {
          assert.match(
            (
              await read(
                program ?? "",
                files.map((file) => (file.path === path ? { ...file, content: file.content.replace(from, to) } : file)),
                path === undefined ? source.replace(from, to) : source,
              )
            ).join("\n"),
            says,
          );
        }
      }
    });
});
