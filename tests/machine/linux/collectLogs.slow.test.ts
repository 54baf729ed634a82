import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { gunzipSync } from "node:zlib";
import { exampleLinuxWorker } from "../examples.ts";
import { describeOnMachine, machine, spec } from "./machine.ts";

describeOnMachine("the collection of logs on a Linux machine", () => {
  it("has logs and answers, no secret of the planted ones, and says what it leaves out", () => {
    const planted = readFileSync(new URL("../planted-secrets.txt", import.meta.url), "utf8");
    const secrets = [...planted.matchAll(/<<(.+?)>>/g)].map(([, secret = ""]) => secret);
    const lines = planted.replaceAll(/<<|>>/g, "");
    const here = machine(exampleLinuxWorker(spec));
    here.write("/var/log/fenestra/bootstrap.log", `${lines}join: failed after 3 s\n`);
    here.write("/var/log/fenestra/big.log", `first\n${`${"x".repeat(9_999)}\n`.repeat(2_200)}last\n`);
    here.write("/var/log/pods/shop/utf16.log", `${[...lines].join("\0")}\0`);
    here.write("/var/log/kubernetes/audit/audit.log", lines);
    here.write("/var/log/fenestra/admin.conf", lines);
    here.runOrFail("/opt/fenestra/collect-logs.sh");
    const text = gunzipSync(here.readBytes("/var/lib/fenestra/logs.tar.gz")).toString("utf8");
    assert.ok(secrets.length > 20);
    const leaked = secrets.filter((secret) => text.includes(secret));
    assert.deepEqual(leaked, []);
    for (const kept of [
      "join: failed after 3 s",
      "\nlast\n",
      "big.log: all but the last",
      "audit.log: not for others",
      "admin.conf: not for others",
    ])
      assert.ok(text.includes(kept), kept);
    assert.equal(text.includes("first\n"), false);
    assert.deepEqual(here.run("stat", "--format", "%a", "/var/lib/fenestra/logs.tar.gz").output, "600\n");
    assert.equal(here.run("bash", "-c", "ls /var/tmp").output, "");
  });
});
