import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import path from "node:path";
import { complaint, refusals } from "../../rehearsal/cluster/realPrograms.ts";
import { suiteFolder } from "../support/temporary.ts";

describe("programs of add-ons in a machine", () => {
  const folder = suiteFolder();
  /** A machine with a folder in place of its logs. */
  const run = ([shell = "", flag = "", command = ""]: readonly string[]) => {
    const stdout = execFileSync(shell, [flag, command.replaceAll("/var/log", folder)], { encoding: "utf8" });
    return Promise.resolve({ code: 0, stdout, stderr: "" });
  };
  const machine = { machines: new Map([["m", { run }]]) };
  const write = (file: string, text: string) => {
    mkdirSync(path.dirname(path.join(folder, file)), { recursive: true });
    writeFileSync(path.join(folder, file), text);
  };
  const pod = { metadata: { namespace: "kube-system", name: "agent-x", uid: "1" } };
  const container = { pod, name: "c", program: "p", status: undefined, port: undefined, unmeasured: undefined };

  for (const line of [
    "flag provided but not defined: -f",
    "Error: unknown flag: --f",
    "error: unknown long flag '--f'",
  ])
    it(`say which flag they do not know: ${line}`, async () => {
      const time = "2026-01-01T00:00:00.0Z stderr F";
      write("pods/kube-system_agent-x_1/c/0.log", `${time} ${line}\n${time}  -v to standard error\n`);
      assert.equal(await complaint(machine, container), `agent-x, p is not ready: ${line}`);
    });

  it("are named by what they were refused, each once, without what a check asked and what is meant", async () => {
    const who = "system:serviceaccount:kube-system:disks";
    const event = (code: number, userAgent: string, username = who, resource = "volumeattachments") =>
      JSON.stringify({
        ...{ verb: "list", userAgent, responseStatus: { code }, user: { username } },
        objectRef: { resource, apiGroup: resource === "secrets" ? "" : "storage.k8s.io" },
      });
    const refused = event(403, "csi-attacher/v1 (linux)");
    const meant = event(403, "azurediskplugin/v1", "system:serviceaccount:kube-system:csi-azuredisk-node", "secrets");
    const others = [event(200, "b/v1"), event(403, "hostile-worker"), meant.replace('"list"', '"get"')];
    write("kubernetes/audit/a.log", [refused, refused, ...others].join("\n"));
    assert.deepEqual(await refusals(machine), [`${who}: may not list volumeattachments.storage.k8s.io (csi-attacher)`]);

    // Only a program itself tells of leases; what is meant does not hide it.
    write("kubernetes/audit/a.log", others.join("\n"));
    const says = (name: string, resource: string) =>
      `User "system:serviceaccount:kube-system:${name}" cannot get resource "${resource}"`;
    const lines = [
      says("csi-azuredisk-node", "secrets"),
      says("disks", "leases"),
      says("csi-azuredisk-node", "leases"),
    ];
    write("pods/kube-system_agent-x_1/c/0.log", lines.map((line) => `x is forbidden: ${line}`).join("\n"));
    assert.deepEqual(await refusals(machine), lines.slice(1));
  });
});
