import assert from "node:assert/strict";
import { macOf } from "../../rehearsal/host/network.ts";
import { machinePath } from "../../rehearsal/host/rootScripts.ts";
import { needUser, scenarioUsers, seenBy } from "./systemSupport.ts";

for (const user of scenarioUsers)
  describe(`simulated machines as ${user.name}`, () => {
    before(needUser(user));

    it("have a root of their own, with the host's programs, and volumes that outlive them", async () => {
      const { capabilities, ...seen } = await seenBy("roots", user);
      const ca = "-----BEGIN CERTIFICATE-----\nZmVuZXN0cmE=\n-----END CERTIFICATE-----\n";
      assert.deepEqual(seen, {
        writableA: "",
        writableB: "",
        privateToA: "",
        stillInA: "x\n",
        notWritable: "/usr\n/usr/bin\n/sys\n/proc/sys/vm/swappiness",
        networkSettings: "1",
        nothingOfTheHost: "/home:\n\n/mnt:\nx\n\n/opt:\nx\n\n/root:\nx\n\n/srv:",
        identity: "cp-0\n127.0.0.1 localhost\n::1 localhost\n10.0.0.100 api.example\nnameserver 10.0.0.2",
        hostName: "cp-0",
        commands: "fake start etcd\nthe real etcd\n/.rehearsal/commands/systemctl",
        programReadOnly: "refused",
        caOfA: true,
        publicCasOfA: true,
        caOfB: ca,
        stdin: "given",
        mountPoint: "/var/lib/etcd-disk is a mountpoint",
        runAndModes: "/var/run/x\n1777\n700",
        throughLinks: ["machine\n", "written 600"],
        oldDisk: "data\netcd-disk",
      });
      // CAP_SYS_MODULE, CAP_SYS_RAWIO, CAP_SYS_BOOT, CAP_SYS_TIME, CAP_SYSLOG (capability.h); CAP_SYS_ADMIN remains for mounts.
      const has = (bit: bigint) => ((BigInt(`0x${String(capabilities)}`) >> bit) & 1n) === 1n;
      assert.deepEqual([16n, 17n, 22n, 25n, 34n, 21n].map(has), [false, false, false, false, false, true]);
    });
  });

describe("machines", () => {
  it("have a MAC address that follows from the address", () => assert.equal(macOf("10.0.255.9"), "02:fe:0a:00:ff:09"));

  it("look for fakes first, and do not find the harness's programs by name", () => {
    const folders = machinePath.split(":");
    assert.deepEqual([folders[0], folders[1]], ["/.rehearsal/commands", "/usr/local/sbin"]);
    assert.ok(!folders.includes("/.rehearsal/programs"));
  });
});
