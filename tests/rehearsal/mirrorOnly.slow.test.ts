import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { Resolver } from "node:dns/promises";
import { promisify } from "node:util";
import { filledMirror, MirrorLacksError } from "../../rehearsal/clouds/mirror.ts";
import { startNameServer } from "../../rehearsal/clouds/nameServer.ts";
import { startProxy } from "../../rehearsal/clouds/proxy.ts";
import { listen } from "../../rehearsal/clouds/server.ts";

const base = "https://mirror.example.com/files/";
const release = "https://github.com/etcd-io/etcd/releases/download/v3.6.10";
const file = (name: string, checksum: string | null = null) => ({
  url: `${release}/${name}`,
  digest: checksum === null ? `sha256:${"a".repeat(64)}` : null,
  checksumUrl: checksum === null ? null : `${release}/${checksum}`,
  mirror: null,
});

describe("a mirror that is filled from the list", () => {
  const mirror = () =>
    filledMirror(base, [file("plain.tar.gz"), file("one.tar.gz", "SUMS"), file("two.tar.gz", "SUMS")], (place) =>
      Buffer.from(`content of ${place}`),
    );
  const get = async (from: ReturnType<typeof mirror>, url: string) =>
    await from.handle({ caller: "10.0.0.4", method: "GET", host: "any", url, headers: {}, body: Buffer.alloc(0) });
  const path = "/files/github.com/etcd-io/etcd/releases/download/v3.6.10";

  it("has nothing else, says so, and tells who waits", async () => {
    const from = mirror();
    assert.deepEqual(await get(from, `${path}/three.tar.gz`), { status: 404 });
    assert.deepEqual(await get(from, "/plain.tar.gz"), { status: 404 });
    const statuses = from.requests.map(({ status }) => status);
    assert.deepEqual(statuses, [404, 404]);
    await assert.rejects(from.lacks, (error) => {
      assert.ok(error instanceof MirrorLacksError);
      assert.match(error.message, /^a machine wants https:\/\/mirror\.example\.com\/files\/\S+\/three\.tar\.gz, and/);
      return true;
    });
  });
});

describe("the name server", () => {
  it("is understood by a resolver, and keeps who asked for what there is not", async () => {
    const known: Readonly<Record<string, string>> = { "api.example.org of 127.0.0.1": "198.51.100.7" };
    const find = (name: string, caller: string) => known[`${name} of ${caller}`];
    const lookUps = await startNameServer({ address: "127.0.9.53", port: 53_053, find });
    const resolver = new Resolver();
    resolver.setServers(["127.0.9.53:53053"]);
    await assert.rejects(resolver.resolve4("dl.k8s.io"), { code: "ENOTFOUND" });
    assert.deepEqual(await resolver.resolve4("API.example.org"), ["198.51.100.7"]);
    await assert.rejects(resolver.resolve6("api.example.org"), { code: "ENODATA" });
    await assert.rejects(resolver.resolveTxt("1234.5678"), { code: "ENOTFOUND" });
    assert.deepEqual(lookUps, [{ caller: "127.0.0.1", name: "dl.k8s.io" }]);
  });
});

describe("the proxy", () => {
  const run = promisify(execFile);
  const proxyUrl = "http://127.0.9.1:33128";
  let requests: Awaited<ReturnType<typeof startProxy>> = [];
  let server: Awaited<ReturnType<typeof listen>>;
  before(async () => {
    server = await listen("127.0.9.2", 38_080, ({ host, url }) => ({ status: 200, body: `${host} ${url}` }));
    const upstream = { address: "127.0.9.2", port: 38_080 };
    requests = await startProxy({
      address: "127.0.9.1",
      port: 33_128,
      routes: new Map([["mirror.test:80", upstream]]),
    });
  });
  after(() => {
    server.closeAllConnections();
    server.close();
  });
  const curl = async (...args: readonly string[]) =>
    (await run("curl", ["--silent", "--fail", "--noproxy", "", "--max-time", "10", "--proxy", proxyUrl, ...args]))
      .stdout;

  it("leads to the hosts that it has a way to, by a tunnel or without", async () => {
    assert.equal(await curl("http://mirror.test/a?b=c"), "mirror.test /a?b=c");
    assert.equal(await curl("--proxytunnel", "http://mirror.test/d"), "mirror.test /d");
    const asked = { caller: "127.0.0.1", target: "mirror.test:80", refused: false };
    assert.deepEqual(requests, [asked, asked]);
  });

  it("refuses all others, and keeps what they were", async () => {
    const before = requests.length;
    await assert.rejects(curl("http://other.test/"), { code: 22 });
    // Versions of curl differ in the code for a tunnel that is refused.
    await assert.rejects(curl("https://dl.k8s.io/"), ({ code }: { readonly code: number }) => [22, 56].includes(code));
    await assert.rejects(curl("http://mirror.test:81/"), { code: 22 });
    const targets = requests.slice(before).map(({ target, refused }) => [target, refused]);
    assert.deepEqual(targets, [
      ["other.test:80", true],
      ["dl.k8s.io:443", true],
      ["mirror.test:81", true],
    ]);
  });
});
