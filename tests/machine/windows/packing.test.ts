import assert from "node:assert/strict";
import { gunzipSync } from "node:zlib";
import { scriptsObject } from "../../../components/machine/bundle.ts";
import type { MachinePayload } from "../../../components/machine/payload.ts";
import {
  packWindowsAws,
  packWindowsAzure,
  windowsExtensionCommand,
} from "../../../components/machine/windows/userData.ts";
import { cloudFacts } from "../../../components/model/cloudFacts/cloudFacts.ts";
import { syntaxErrors } from "../../support/powershellRules.ts";
import { exampleSpec } from "../../support/stacks.ts";
import { exampleWindowsWorker, fileOf, scriptsBucket, windowsExamples } from "../examples.ts";

/** An archive as the format's description has it. */
interface Archive {
  readonly entry: string;
  readonly files: Readonly<Record<string, string>>;
}

/** Reads the archive out of a loader script by the format's description, by nothing of the packer. */
function archiveOf(script: string): Archive {
  const packed = /^\$p='([A-Za-z0-9+/=]+)'$/m.exec(script)?.[1];
  assert.ok(packed !== undefined, "the loader holds no archive");
  return JSON.parse(gunzipSync(Buffer.from(packed, "base64")).toString("utf8"));
}

const awsScript = (payload: MachinePayload): string => packWindowsAws(payload, scriptsObject(payload), scriptsBucket);
const azureScript = (payload: MachinePayload): string =>
  Buffer.from(packWindowsAzure(payload), "base64").toString("utf8");

describe("a packed Windows payload", () => {
  it("stays below the limits of both clouds; bytes per pool", () => {
    for (const { spec, payload, pool } of windowsExamples()) {
      const { userDataBytes: most } = cloudFacts[spec.cloud].machines;
      const bytes =
        spec.cloud === "aws"
          ? Buffer.byteLength(awsScript(payload))
          : Buffer.from(packWindowsAzure(payload), "base64").length;
      console.log(`      ${spec.name} ${pool.name}: ${bytes} of ${most} bytes, ${most - bytes} left`);
      assert.ok(bytes <= most * 0.8, `${pool.name}: ${bytes} bytes are more than four fifths`);
    }
  });

  it("on Azure is a script that parses and holds every file but the one that fetches", async () => {
    for (const { payload } of windowsExamples("azure")) {
      const script = azureScript(payload);
      assert.deepEqual(await syntaxErrors(script), []);
      const { entry, files } = archiveOf(script);
      assert.equal(entry, "C:\\fenestra\\bootstrap.ps1");
      const paths = payload.files.map(({ path }) => path).filter((path) => path !== "C:\\fenestra\\fetch.ps1");
      assert.deepEqual(Object.keys(files), paths);
    }
  });

  it("writes its files while no run is at work, and lets the run go on before it starts the entry", () => {
    const aws = exampleWindowsWorker(exampleSpec("aws-prod"));
    for (const script of [awsScript(aws), azureScript(exampleWindowsWorker(exampleSpec("azure-prod")))]) {
      const steps = [
        /Global\\fenestra-run'\);\$h=\$l\.WaitOne\(600000\)/,
        /WriteAllText/,
        /ReleaseMutex/,
        /-File \$a\.entry/,
      ];
      const places = steps.map((step) => script.search(step));
      assert.ok(places.every((place, index) => place > (places[index - 1] ?? 0)));
    }
    // The same lock as the run's own.
    assert.match(fileOf(aws, "C:\\fenestra\\lib.ps1"), /"Global\\fenestra-\$Lock"/);
    assert.match(fileOf(aws, "C:\\fenestra\\run.ps1"), /Invoke-Alone 'run' \(1000/);
  });

  it("on AWS holds in user data and object together every file exactly once", () => {
    for (const { payload } of windowsExamples("aws")) {
      const first = archiveOf(awsScript(payload));
      const object = scriptsObject(payload);
      const second: Archive = JSON.parse(object.content);
      assert.equal(first.entry, "C:\\fenestra\\fetch.ps1");
      assert.equal(second.entry, payload.entry);
      const all = [...Object.keys(first.files), ...Object.keys(second.files)];
      const wanted = [...payload.files.map(({ path }) => path), "C:\\fenestra\\scripts.json"];
      assert.deepEqual([...all].sort(), [...wanted].sort());
      assert.deepEqual(
        Object.keys(first.files).sort(),
        ["fetch.ps1", "files.ps1", "machine.json", "scripts.json", "sigv4.ps1", "task.ps1", "web.ps1"].map(
          (name) => `C:\\fenestra\\${name}`,
        ),
      );
    }
  });

  it("the command of Azure's extension is short and passes through cmd unchanged", () => {
    const command = windowsExtensionCommand();
    assert.ok(command.length < 2048);
    assert.doesNotMatch(command, /["%^<>|]/);
    assert.match(command, /^copy \/y C:\\AzureData\\CustomData\.bin C:\\AzureData\\fenestra\.ps1 && powershell\.exe /);
    assert.match(command, /-File C:\\AzureData\\fenestra\.ps1$/);
  });
});
