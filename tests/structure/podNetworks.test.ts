import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import path from "node:path";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("../../", import.meta.url));

/** What belongs to one pod network, in words that a program, a file or a message has. */
const words = /flannel|vxlan|win-overlay|azure-?cni|azure-vnet/i;

/** Folders whose files name no pod network, and the places in them that do: each network's own. */
const folders = ["components", "plan", "checks", "verify", "rehearsal"];
const own = ["components/podNetworks", "rehearsal/programs/podNetworks.ts"];

/** Files that name one outside, with the reason. One that no longer does fails too. */
const exceptions: Readonly<Record<string, string>> = {
  "components/config/podNetworkSchema.ts": "what a stack file may say",
  "components/config/removedSettings.ts": "what older stack files have",
  "components/config/rules/podNetworks.ts": "the rules on that",
  "components/kubernetes/guardRails/ownNode.ts": "what each agent may write of its node",
  "components/machine/windows/scripts/pod.ps1": "the text of a script is part of the machine's fingerprint",
  "components/model/podAddressing.ts": "the names to choose from, and the addresses by which a stack file is judged",
  "components/spec/clusterSpec.ts": "a field of the stack file",
};

/** Names in a text, without comments of TypeScript, bash and PowerShell: those say why. */
function named(text: string): boolean {
  return words.test(text.replace(/\/\*[\s\S]*?\*\//g, "").replace(/^\s*(?:\/\/|#).*$/gm, ""));
}

describe("a pod network", () => {
  it("is named in its own module alone", () => {
    const found = folders
      .flatMap((folder) =>
        readdirSync(path.join(root, folder), { recursive: true, encoding: "utf8" }).map((name) => path.posix.join(folder, name)),
      )
      .filter((file) => /\.(ts|sh|ps1|service)$/.test(file) && !own.some((place) => file.startsWith(place)))
      .filter((file) => named(readFileSync(path.join(root, file), "utf8")));
    assert.deepEqual(found.sort(), Object.keys(exceptions));
  });

  it("is seen in code and in texts, and in no comment", () => {
    assert.ok(named('const a = "kube-flannel"; // b\n') && named("  Get-Process flanneld\n") && named("UDP VXLAN"));
    assert.ok(!named("/** flannel */\n  // flannel\n# VXLAN\nconst a = 1;\n"));
  });
});
