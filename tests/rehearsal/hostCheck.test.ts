import assert from "node:assert/strict";
import { type HostFacts, hostProblem } from "../../rehearsal/host/hostCheck.ts";

describe("host check", () => {
  const fine: HostFacts = { platform: "linux", root: false, missingTools: [], attempt: "", settings: {} };
  const remedies = (facts: Partial<HostFacts>) => hostProblem({ ...fine, ...facts })?.remedies;
  const container = "in a container: docker run --privileged, or run on the host itself";

  it("is content when the attempt succeeded", () => assert.equal(hostProblem(fine), undefined));

  it("names another system and missing tools", () => {
    assert.match(
      hostProblem({ ...fine, platform: "darwin" })?.message ?? "",
      /^The rehearsal needs Linux .* this is darwin\./,
    );
    assert.equal(
      hostProblem({ ...fine, missingTools: ["ip", "setpriv"] })?.message.split("\n")[0],
      "Not found on PATH: ip, setpriv.",
    );
  });

  it("gives the remedy that fits the kernel's settings", () => {
    const attempt = "unshare: unshare failed: Operation not permitted";
    assert.match(
      hostProblem({ ...fine, attempt })?.message ?? "",
      /namespaces of a rehearsal: unshare: unshare failed/,
    );
    assert.deepEqual(remedies({ attempt, root: true }), [container]);
    assert.deepEqual(remedies({ attempt, settings: { "user/max_user_namespaces": "0" } }), [
      "allow user namespaces: sudo sysctl -w user.max_user_namespaces=15000 (found 0)",
      "run it as root",
      container,
    ]);
    assert.deepEqual(
      remedies({
        attempt,
        settings: { "kernel/unprivileged_userns_clone": "1", "kernel/apparmor_restrict_unprivileged_userns": "1" },
      }),
      [
        "Ubuntu 24.04: sudo sysctl -w kernel.apparmor_restrict_unprivileged_userns=0 (found 1)",
        "run it as root",
        container,
      ],
    );
    assert.deepEqual(remedies({ attempt: "Error: Unknown device type." }), [
      "load the kernel modules as root: modprobe bridge veth",
    ]);
  });
});
