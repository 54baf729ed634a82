import assert from "node:assert/strict";
import type { IncomingMessage, ServerResponse } from "node:http";
import { releaseArtifacts } from "../../cli/pin/lock.ts";
import { Publishers } from "../../cli/pin/publishers.ts";
import { selectableVersions } from "../../components/model/releases.ts";
import { a, b, checkout, container, digest, file, image, program, text } from "./pinning.ts";

describe("fenestra pin", () => {
  const { answers, asked, via, pin } = checkout();

  it("records what is missing with its source, and nothing where a recorded file differs", async () => {
    answers.set(program("kubelet"), text(`${a}\n`));
    answers.set(program("kubectl"), text(b));
    const fine = await pin([file("kubelet", null)]);
    assert.deepEqual(
      [fine.code, fine.err, fine.out],
      [0, "", "0 verified, 1 recorded, 0 moved, 0 different, 0 failed, 0 without a published digest\n"],
    );
    assert.deepEqual(fine.lock, [{ ...file("kubelet", a), source: `https:/${program("kubelet")}` }]);
    const before = [file("kubectl", null), file("kubelet", b)];
    const bad = await pin(before, "--accept-moved");
    assert.equal(bad.code, 1);
    assert.match(
      bad.err,
      new RegExp(
        `✗ kubelet 1\\.36\\.4 \\(linux/amd64\\): the lock file has ${b}, the publisher says ${a} .*\n.*left as it is`,
      ),
    );
    assert.deepEqual(bad.lock, before);
  });

  it("tells a missing file, a silent server, and one out of reach", async () => {
    const many = ["d", "e", "f", "g", "h"].map((name) => file(name, null));
    const { code, err } = await pin(many);
    assert.deepEqual([code, err.match(/HTTP 404/g)?.length, /\.\.\. and 2 more/.test(err)], [1, 4, true]);
    const closed = await pin([file("kubelet", null)], "--via", "http://127.0.0.1:1");
    assert.match(
      closed.err,
      /No publisher could be reached\. Run this where there is internet, or give a mirror by --via URL\./,
    );
    answers.set(program("kubelet"), () => undefined);
    await assert.rejects(
      new Publishers(via(), 100).digest(file("kubelet", null)),
      /kubelet\.sha256: no answer within 0\.1 s$/,
    );
  });

  it("asks a registry by HEAD, follows its redirect, and takes its token for everybody", async () => {
    answers.set("/ghcr.io/v2/o/r/manifests/1.0.0", (_, response) => {
      response.writeHead(307, { location: "/elsewhere/v2/o/r/manifests/1.0.0" }).end();
    });
    answers.set("/elsewhere/v2/o/r/manifests/1.0.0", (request, response) => {
      if (request.headers.authorization === "Bearer t") return digest(a)(request, response);
      const realm = `realm="https://ghcr.io/token",service="ghcr.io",scope="repository:o/r:pull"`;
      response.writeHead(401, { "www-authenticate": `Bearer ${realm}` }).end();
    });
    answers.set("/ghcr.io/token?service=ghcr.io&scope=repository%3Ao%2Fr%3Apull", text(JSON.stringify({ token: "t" })));
    const { code, lock } = await pin([container("o/r", null)]);
    assert.deepEqual([code, lock], [0, [{ ...container("o/r", a), source: "ghcr.io/o/r:1.0.0" }]]);
    assert.ok(asked.filter((line) => line.includes("manifests")).every((line) => line.startsWith("HEAD ")));
  });

  it("refuses a digest of half an answer, a busy one, or another file's", async () => {
    const half = (_: IncomingMessage, response: ServerResponse) =>
      void response.writeHead(200, { "content-length": 64 }).write("a".repeat(40), () => response.destroy());
    const busy = (_: IncomingMessage, response: ServerResponse) => void response.writeHead(429).end();
    for (const [answer, code] of [
      [half, 1],
      [busy, 1],
      [text(`${a}  kubectl\n`), 0],
      [text("a".repeat(40)), 0],
    ] as const) {
      answers.set(program("kubelet"), answer);
      const said = await pin([file("kubelet", null)]);
      assert.deepEqual([said.code, said.lock[0]?.digest], [code, null], said.err);
    }
    answers.set("/ghcr.io/v2/o/r/manifests/1.0.0", busy);
    assert.equal((await pin([container("o/r", a)])).code, 1);
    // A registry that names no digest, or half of one.
    answers.set("/ghcr.io/v2/o/r/manifests/1.0.0", digest(a.slice(9)));
    assert.match((await pin([container("o/r", null)])).err, /· ghcr\.io\/o\/r 1\.0\.0 .* gives no digest of it/);
  });

  it("refuses a moved tag until told to take it", async () => {
    answers.set("/ghcr.io/v2/o/r/manifests/1.0.0", digest(b));
    const refused = await pin([container("o/r", a)]);
    assert.deepEqual([refused.code, refused.lock], [1, [container("o/r", a)]]);
    assert.match(refused.err, new RegExp(`the tag was moved: the lock file has ${a}, the publisher says ${b} `));
    const taken = await pin([container("o/r", a)], "--accept-moved");
    assert.deepEqual([taken.code, taken.lock[0]?.url], [0, container("o/r", b).url]);
  });

  it("adds every program of a release, which can then be chosen, and otherwise only what --only names", async () => {
    for (const { url } of releaseArtifacts("1.37.9")) answers.set(`/${url.slice(8)}.sha256`, text(a));
    const release = await pin([], "1.37.9");
    assert.deepEqual([release.code, selectableVersions(release.lock)], [0, ["1.37.9"]]);
    assert.ok(release.lock.every((artifact) => artifact.digest === a && artifact.checksumUrl === undefined));
    const name = "mcr.microsoft.com/windows/nanoserver";
    for (const tag of ["ltsc2019", "ltsc2022", "ltsc2025"])
      answers.set(`/mcr.microsoft.com/v2/windows/nanoserver/manifests/${tag}`, digest(a));
    const lock = [{ ...image(name, "ltsc2022", a), os: "windows" } as const, file("kubelet", null)];
    const some = await pin(lock, "--only", "nanoserver");
    assert.deepEqual([some.code, some.out.slice(0, 23)], [0, "1 verified, 2 recorded,"]);
    const versions = some.lock.map(({ version, digest: own }) => [version, own]);
    assert.deepEqual(versions, [["1.36.4", null], ...["ltsc2019", "ltsc2022", "ltsc2025"].map((tag) => [tag, a])]);
  });

  it("tells a mistake in the command line in one line", async () => {
    for (const [args, message] of [
      [["1.99.0"], /Kubernetes 1\.99 cannot be chosen; allowed: 1\.36, 1\.37/],
      [["newest"], /newest is not a release such as 1\.37\.1/],
      [["a", "1.36.4", "1.36.5"], /pin takes a version, or a name and its version, not a 1\.36\.4 1\.36\.5/],
      [["a", "1.36.5"], /nothing in the lock file is called a/],
      [["--sha256", a], /--sha256 is about one program or image; allowed: with NAME and VERSION/],
      [["--only", "nothing"], /--only nothing is in the name or version of no artifact/],
      [["--via", "x"], /--via x is not a URL/],
      [["--root", "/nowhere"], /--root \/nowhere: .*allowed: a checkout/],
    ] as const) {
      const { code, err } = await pin([], ...args);
      assert.deepEqual([code, message.test(err)], [2, true], err);
    }
  });
});
