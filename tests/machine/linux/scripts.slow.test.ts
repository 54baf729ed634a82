// Sees what nothing faster does: that a machine fetches its own scripts, whole ones alone.
import assert from "node:assert/strict";
import path from "node:path";
import { isFetched, type ScriptsObject, scriptsObject } from "../../../components/machine/bundle.ts";
import { withFetchedScripts } from "../../../components/machine/linux/cloudConfig.ts";
import { commandFolder } from "../../../rehearsal/testkit/machines.ts";
import { exampleControlPlane, scriptsBucket } from "../examples.ts";
import { describeOnMachine, entry, machine, type Run, type Sandbox, spec } from "./machine.ts";

const payload = exampleControlPlane(spec);
const object = scriptsObject(payload);
const identityStage = "/opt/fenestra/stages/identity.sh";

/** Puts an object into the bucket, with other bytes than its own when they are given. */
function store(here: Sandbox, { key, content: text }: ScriptsObject, content?: Buffer) {
  here.artifact(path.basename(key), content ?? Buffer.from(text));
}

/** A machine that has nothing but its user data, and the bucket with its scripts. */
function fetching(content?: Buffer): Sandbox {
  const here = machine(withFetchedScripts(payload, object, scriptsBucket));
  store(here, object, content);
  return here;
}

const requests = ({ matching }: Run): readonly string[] => matching(/s3\..*\.json( |$)/);

describeOnMachine("fetching scripts from the bucket on AWS", () => {
  it("brings a control-plane machine up from its user data alone, and is done once", () => {
    const here = fetching();
    assert.equal(here.has(identityStage), false);
    const first = here.runOrFail(entry);
    const { output, calls } = first;
    assert.match(
      output,
      /bootstrap scripts: begins\n[\s\S]*bootstrap scripts: done[\s\S]*bootstrap identity: begins\n/,
    );
    for (const file of payload.files.filter(isFetched)) assert.equal(here.read(file.path), file.content, file.path);
    const left = here.list("/opt/fenestra").filter((name) => name.endsWith(".new"));
    assert.deepEqual(left, []);
    const [request, ...more] = requests(first);
    assert.deepEqual(more, []);
    assert.match(request ?? "", /--aws-sigv4 aws:amz:eu-central-1:s3 /);
    assert.ok(request?.endsWith(` https://${scriptsBucket}.s3.eu-central-1.amazonaws.com/${object.key}`), request);
    assert.equal(`${output}${calls.join("\n")}`.includes("SECRETKEY"), false);
    // What services start comes from the object too.
    here.runOrFail("test", "-x", "/opt/fenestra/node-controller-identity.sh");

    const again = here.runOrFail(entry);
    assert.match(again.output, /bootstrap scripts: already done/);
    assert.deepEqual(requests(again), []);
  });

  for (const [what, content] of [
    ["of another content", Buffer.from("something else")],
    ["that is empty", Buffer.alloc(0)],
  ] as const)
    it(`unpacks nothing of an object ${what}, and ends with 16 after the usual attempts`, () => {
      const here = fetching(content);
      const says = new RegExp(`error: ${object.key} from ${scriptsBucket} has the SHA-256 [0-9a-f]{64}\n`);
      const refused = here.fails(16, says, entry);
      assert.match(refused.output, /scripts: failed after \d+ s with status 1; exit code 16/);
      assert.equal(requests(refused).length, 2);
      assert.equal(here.has(identityStage), false);
    });

  it("says when the role may not read, and waits for rights that come late", () => {
    const here = fetching();
    here.write("/store/denied", "");
    here.fails(16, new RegExp(`error: reading ${object.key} from ${scriptsBucket} was answered with 403\n`), entry);
    assert.equal(here.has(identityStage), false);
    here.writeScript("/store/on-sleep", `#!/bin/bash\nrm -f "\${0%/*}/denied"\n`);
    const granted = here.runOrFail(entry);
    assert.match(granted.output, /was answered with 403\n[\s\S]*the scripts are in place, SHA-256 [0-9a-f]{64}\n/);
  });

  it("survives being cut off while it fetches and while it unpacks", () => {
    const here = fetching();
    here.write("/store/cut", "^curl.*s3.*\\.json$\n");
    assert.equal(here.run(entry).code, 137);
    here.writeScript(`${commandFolder}/python3`, `#!/bin/bash\necho half >${identityStage}.new\nkill -KILL 0\n`);
    const cut = here.run(entry);
    assert.equal(cut.code, 137, cut.output);
    assert.equal(here.has(identityStage), false);
    here.remove(`${commandFolder}/python3`);
    here.runOrFail(entry);
    const left = here.list("/opt/fenestra/stages").filter((name) => name.endsWith(".new"));
    assert.deepEqual(left, []);
  });

  it("fetches again for user data that names another object, and takes an object in which nothing can be read as a failure", () => {
    const here = fetching();
    here.runOrFail(entry);
    const changed = {
      ...payload,
      files: payload.files.map((file) =>
        file.path.endsWith("/renew-certificates.sh") ? { ...file, content: `${file.content}true\n` } : file,
      ),
    };
    const other = scriptsObject(changed);
    here.install(withFetchedScripts(changed, other, scriptsBucket));
    store(here, other);
    here.runOrFail(entry);
    assert.match(here.read("/opt/fenestra/renew-certificates.sh"), /\ntrue\n$/);
    here.writeScript(`${commandFolder}/python3`, "#!/bin/bash\nexit 1\n");
    here.remove("/var/lib/fenestra/done/scripts");
    assert.equal(here.run(entry).code, 16);
  });
});
