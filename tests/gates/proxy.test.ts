import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import type { ServerResponse } from "node:http";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { KubeConfig } from "@kubernetes/client-node";
import { clusterApi } from "../../check/cluster/clusterApi.ts";
import { apiProblem, askApi } from "../../components/gates/apiProbe.ts";
import { proxyTo, sayingHow } from "../../components/gates/proxy.ts";
import { behindProxy, serving } from "./serving.ts";

const withNode = fileURLToPath(new URL("../../cli/with-node", import.meta.url));

describe("the API behind a proxy", () => {
  const ok = () => ({ status: 200, body: "ok" });

  it("is asked by HTTPS_PROXY, but not where NO_PROXY names it", () =>
    serving(ok, async (api) => {
      const { host } = new URL(api.server);
      await behindProxy("", async (seen) => {
        assert.equal((await askApi(api, "/readyz")).body, "ok");
        assert.deepEqual(seen, [host]);
      });
      await behindProxy("localhost", async (seen) => {
        assert.equal((await askApi(api, "/readyz")).body, "ok");
        assert.deepEqual(seen, []);
      });
    }));

  it("is asked likewise by verify and status, by kept connections", () => {
    const say = '{"major":"1","minor":"36","gitVersion":"v1.36.4"}';
    const json = { "content-type": "application/json" };
    const answer = (response: ServerResponse) => void response.writeHead(200, json).end(say);
    const version = () => ({ status: 200, body: say, say: answer });
    return serving(version, async ({ server, caCertificate }) => {
      const cluster = { server, "certificate-authority-data": Buffer.from(caCertificate).toString("base64") };
      const file = {
        ...{ apiVersion: "v1", kind: "Config", "current-context": "x", clusters: [{ name: "c", cluster }] },
        ...{ contexts: [{ name: "x", context: { cluster: "c", user: "u" } }], users: [{ name: "u", user: {} }] },
      };
      for (const none of ["", "localhost"])
        await behindProxy(none, async (seen) => {
          const config = new KubeConfig();
          config.loadFromString(JSON.stringify(file));
          const { version: api } = clusterApi(config, server);
          for (let call = 0; call < 6; call++) assert.equal((await api.getCode()).minor, "36");
          assert.deepEqual([...new Set(seen)], none === "" ? [new URL(server).host] : []);
          assert.ok(seen.length < 4, `${seen.length} connections`);
        });
    });
  });

  it("is the way of every command of the CLI", () =>
    serving(ok, ({ server }) =>
      behindProxy("", async (seen, lead) => {
        lead(Number(new URL(server).port));
        // Nobody trusts who signs there.
        const call = 'await fetch("https://publisher.test/").catch(() => {}); process.exit()';
        await promisify(execFile)(withNode, ["--input-type=module", "--eval", call]);
        assert.deepEqual(seen, ["publisher.test:443"]);
      }),
    ));

  it("is not asked by the proxy where NO_PROXY has its name, a domain of it, its port or its network", () => {
    const direct = (server: string, none: string) =>
      proxyTo(server, { HTTPS_PROXY: "http://proxy:3128", NO_PROXY: none }) === undefined;
    for (const none of ["*", "a.test, api.b.test", ".b.test", "b.test", "*.b.test", "api.b.test:6443"])
      assert.ok(direct("https://api.b.test:6443", none), none);
    for (const none of ["", "i.b.test", "api.b.test:443", "10.0.0.0/8"])
      assert.equal(direct("https://api.b.test:6443", none), false, none);
    assert.deepEqual(
      ["10.0.0.0/8", "10.0.224.10", "11.0.0.0/8"].map((none) => direct("https://10.0.224.10:6443", none)),
      [true, true, false],
    );
    assert.equal(proxyTo("https://api.b.test", {}), undefined);
  });

  it("says after a minute by which way, and who signed in between, and no password", () =>
    serving(ok, (api) =>
      serving(ok, (other) =>
        behindProxy("", async (_, lead) => {
          lead(Number(new URL(other.server).port));
          let minutes = 0;
          const asked = sayingHow(
            api.server,
            () => apiProblem({ ...api, caCertificate: "" }),
            60_000,
            () => 60_000 * minutes,
          );
          const probe = () => asked(() => undefined);
          await assert.rejects(probe, (error: Error) => !/tried/.test(error.message));
          minutes += 1;
          await assert.rejects(probe, (error: Error) => {
            assert.match(
              error.message,
              /tried localhost \([\d.:, ]+\) with HTTPS_PROXY localhost:\d+, NO_PROXY ; the certificate there is by kubernetes/,
            );
            assert.doesNotMatch(error.message, /hidden/);
            return error.name === "Refused";
          });
        }),
      ),
    ));
});
