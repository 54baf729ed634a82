import assert from "node:assert/strict";
import type { PoolSpec } from "../../components/model/pools.ts";
import { exampleLinuxWorker } from "./examples.ts";
import { describeOnMachine, entry, spec as example, joinSecret, machine } from "./linux/machine.ts";

const own = {
  timeZone: "Europe/Berlin",
  annotations: { "example.com/owner": 'team "web" & friends' },
  beforeJoin: "set -eu\necho before >>/var/log/own.log\n[ ! -e /var/log/refuse ]\n",
  // Leaves a program behind, for which nobody waits.
  afterJoin: "echo after >>/var/log/own.log\necho agent\n/bin/sleep 300 &\n",
};
const cluster = { ...example, pools: example.pools.map((pool): PoolSpec => ({ ...pool, ...own })) };

describeOnMachine("the user's own steps on a machine", () => {
  it("hold a Linux machine back while the script before the join fails, and run once", () => {
    const here = machine(exampleLinuxWorker(cluster));
    here.secret(`/fenestra/${cluster.name}/join`, joinSecret(3600));
    here.write("/var/log/refuse", "");
    const refused = here.fails(42, /beforeJoin of the pool ended with 1/, entry);
    assert.ok(refused.calls.includes("timedatectl set-timezone Europe/Berlin"));
    assert.equal(here.has("/etc/kubernetes/bootstrap-kubelet.conf"), false);
    here.runOrFail("rm", "/var/log/refuse");
    const joined = here.runOrFail(entry);
    here.runOrFail(entry);
    assert.equal(here.read("/var/log/own.log"), "before\nbefore\nafter\n");
    assert.equal(here.read("/var/log/fenestra/own-after.log"), "agent\n");
    const patches = joined.calls.filter((call) => call.startsWith("kubectl") && call.includes(" patch node "));
    assert.deepEqual(patches, [
      "kubectl --kubeconfig /etc/kubernetes/kubelet.conf patch node i-0123456789abcdef0 --patch-file /etc/fenestra/node-patch.json",
    ]);
    assert.deepEqual(JSON.parse(here.read("/etc/fenestra/node-patch.json")), {
      metadata: { annotations: own.annotations },
    });
  });
});
