// Sees what nothing faster does: a port that opens and closes over time.
import assert from "node:assert/strict";
import { commandFolder } from "../../../rehearsal/testkit/machines.ts";
import { exampleLinuxWorker } from "../examples.ts";
import { describeOnMachine, identity, machine, spec } from "./machine.ts";

/**
 * What kubectl answers, one look after the other: the status of the node's condition, or nothing where the API refuses.
 */
const kubectl = `#!/bin/bash
if [[ $* == *annotate* ]]; then printf '%s\\n' "\${*: -2:1}" >>/store/told; exit 0; fi
answer=$(head -n 1 /store/answers)
sed -i 1d /store/answers
[[ -n $answer ]] || { echo "error: You must be logged in to the server (Unauthorized)" >&2; exit 1; }
printf %s "$answer"
`;

/**
 * In place of the pause between two looks: notes whether the port is open, and ends the run when all answers are given.
 */
const look = `#!/bin/bash
/bin/sleep 0.5
(: </dev/tcp/127.0.0.1/10261) 2>/dev/null && echo open >>/store/ports || echo closed >>/store/ports
[ ! -e /store/dies ] || { rm /store/dies; pkill -f create_server; /bin/sleep 0.2; }
[ -s /store/answers ] || echo '^sleep' >/store/cut
`;

describeOnMachine("the health port of a Linux machine", () => {
  function ports(patience: number, answers: readonly string[], dies = false): readonly string[] {
    const here = machine(exampleLinuxWorker(spec));
    here.write("/var/lib/fenestra/identity.env", identity);
    here.writeScript(`${commandFolder}/kubectl`, kubectl);
    here.writeScript("/store/on-sleep", look);
    here.write("/store/answers", answers.map((answer) => `${answer}\n`).join(""));
    if (dies) here.write("/store/dies", "");
    here.set({ HEALTH_PATIENCE: patience });
    const { output } = here.run("bash", "-c", "ip link set lo up; exec bash /opt/fenestra/health.sh");
    return here.has("/store/ports") ? here.read("/store/ports").trim().split("\n") : assert.fail(output);
  }

  it("is closed until the node is Ready, closed again when it is not, and opened anew", () => {
    assert.deepEqual(ports(0, ["", "False", "Unknown", "True", "True", "False", "", "True"]), [
      ...["closed", "closed", "closed", "open", "open", "closed", "closed", "open"],
    ]);
  });

  it("stays open while the node is not Ready for a moment, or nobody says", () => {
    assert.deepEqual(ports(60, ["", "True", "", "False"]), ["closed", "open", "open", "open"]);
  });

  it("goes with a word on the Node about units that have failed, and one when none has any more", () => {
    const here = machine(exampleLinuxWorker(spec));
    here.write("/var/lib/fenestra/identity.env", identity);
    here.writeScript(`${commandFolder}/kubectl`, kubectl);
    here.write("/store/answers", "True\nTrue\nTrue\n");
    here.write(
      "/store/units",
      "Result=success\nId=fenestra-drain.service\n\nResult=exit-code\nId=fenestra-a.service\n\nId=fenestra-b.service\nResult=timeout\n",
    );
    here.writeScript(
      "/store/on-sleep",
      "#!/bin/bash\n[ \"$(wc -l </store/answers)\" -gt 1 ] || rm -f /store/units\n[ -s /store/answers ] || echo '^sleep' >/store/cut\n",
    );
    const { output } = here.run("bash", "-c", "ip link set lo up; exec bash /opt/fenestra/health.sh");
    assert.equal(
      here.read("/store/told"),
      "fenestra.dev/failed=fenestra-a.service,fenestra-b.service\nfenestra.dev/failed-\n",
      output,
    );
  });

  it("is open again when its listener is gone", () =>
    assert.deepEqual(ports(60, ["True", "True"], true), ["open", "open"]));
});
