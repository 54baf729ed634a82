import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { approverRules } from "../../components/kubernetes/addOns/csrApprover.ts";
import { addOnImages } from "../../components/kubernetes/images.ts";
import { denial, type ServingRequest } from "../../rehearsal/clouds/csrApprover.ts";
import { addOnFiles, addOnPrograms, moduleOf, programOf } from "../../rehearsal/programs/addOns.ts";
import { exampleSpec } from "../support/stacks.ts";

describe("the fake of kubelet-csr-approver", () => {
  const spec = exampleSpec("aws-dev");
  const { nodeName, networks, maxDnsNames } = approverRules(spec);
  const settings = { regex: new RegExp(nodeName), networks, dnsNames: maxDnsNames, seconds: 31_622_400 };
  const id = "i-0123456789abcdef0";
  const user = `system:node:${id}`;
  const address = (networks[0] ?? "").replace(/\d+\/\d+$/, "10");
  const request = { username: user, commonName: user, dnsNames: [id], ipAddresses: [address], seconds: 0 };
  const rows: readonly (readonly [Partial<ServingRequest>, string | undefined])[] = [
    [{}, undefined],
    [{ dnsNames: [`${id}.${spec.region}.compute.internal`] }, undefined],
    [{ username: "system:serviceaccount:x:y" }, "the user is system:serviceaccount:x:y"],
    [{ dnsNames: [], ipAddresses: [] }, "it names neither an IP address nor a DNS name"],
    [{ commonName: "system:node:other" }, "its common name is system:node:other"],
    [{ dnsNames: [id, id, id] }, "it has 3 DNS names, 2 are allowed"],
    [{ dnsNames: ["ip-10-0-0-1"] }, "ip-10-0-0-1 does not begin with the node's name"],
    [{ dnsNames: [`${id}.evil`] }, `${id}.evil does not fit ${settings.regex.source}`],
    [{ ipAddresses: ["192.0.2.1"] }, `192.0.2.1 lies in none of ${networks.join(", ")}`],
    [{ seconds: 40_000_000 }, "it asks for 40000000 s, 31622400 are allowed"],
  ];

  for (const [change, reason] of rows) {
    it(`answers ${JSON.stringify(change)} with ${reason ?? "its approval"}`, () => {
      assert.equal(denial({ ...request, ...change }, settings), reason);
    });
  }
});

describe("programs of add-ons", () => {
  it("are in the table of the documentation", () => {
    const text = readFileSync(new URL("../../docs/architecture.md", import.meta.url), "utf8");
    const [, section = ""] = text.split("### Programs of add-ons");
    const missing = addOnPrograms.filter(({ module }) => !section.includes(`\`${module}\``));
    assert.deepEqual(
      missing.map(({ name }) => name),
      [],
    );
  });

  it("are modules of the release that their image is made of", () => {
    const versions = new Map(addOnImages().map(({ name, version }) => [name, version]));
    assert.deepEqual(
      addOnPrograms.map((program) => moduleOf(program).split("@")[1]),
      addOnPrograms.map(({ image }) => image.split(":")[1] ?? `v${versions.get(image)?.split("-")[0]}`),
    );
  });

  it("are built for the clouds that have them", () => {
    const onAws = [...addOnFiles("aws").keys()];
    const onAzure = [...addOnFiles("azure").keys()];
    assert.deepEqual([...new Set([...onAws, ...onAzure])].sort(), addOnPrograms.map(({ name }) => name).sort());
    assert.deepEqual(
      onAws.filter((name) => !onAzure.includes(name)),
      ["aws-ebs-csi-driver", "csi-attacher", "csi-resizer"],
    );
  });

  it("run in the image of their name, and where kubeadm chooses the version only in that one", () => {
    const names = (...references: readonly string[]) => references.map((reference) => programOf(reference)?.name);
    const detector = "registry.k8s.io/node-problem-detector/node-problem-detector";
    assert.deepEqual(names(`${detector}:v1@sha256:0`, `${detector}-windows:v1`), ["node-problem-detector", undefined]);
    const dns = addOnPrograms.find(({ name }) => name === "coredns")?.image ?? "";
    assert.deepEqual(names(dns, `${dns}0`, dns.split(":")[0] ?? ""), ["coredns", undefined, undefined]);
  });
});
