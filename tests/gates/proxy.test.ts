import assert from "node:assert/strict";
import { createServer } from "node:http";
import { connect } from "node:net";
import { askApi } from "../../components/gates/apiProbe.ts";
import { sayingHow } from "../../components/gates/proxy.ts";
import { listening } from "../support/temporary.ts";
import { serving } from "./serving.ts";

const names = ["HTTPS_PROXY", "https_proxy", "NO_PROXY", "no_proxy"] as const;

/** A proxy on loopback that leads wherever it is told, or to where `instead` says. */
async function behindProxy(
  noProxy: string,
  action: (seen: readonly string[], lead: (port: number) => void) => Promise<void>,
): Promise<void> {
  const seen: string[] = [];
  let instead: number | undefined;
  const proxy = createServer().on("connect", ({ url = "" }, socket) => {
    seen.push(url);
    const there = connect(instead ?? Number(url.split(":")[1]), "localhost", () => {
      socket.write("HTTP/1.1 200 OK\r\n\r\n");
      there.pipe(socket).pipe(there);
    });
    there.on("error", () => socket.destroy());
    socket.on("error", () => there.destroy());
  });
  const before = names.map((name) => [name, process.env[name]] as const);
  const port = await listening(proxy, "localhost");
  for (const name of names) delete process.env[name];
  process.env.HTTPS_PROXY = `http://somebody:hidden@localhost:${port}`;
  process.env.NO_PROXY = noProxy;
  try {
    await action(seen, (to) => {
      instead = to;
    });
  } finally {
    for (const [name, value] of before)
      if (value === undefined) delete process.env[name];
      else process.env[name] = value;
    proxy.close();
  }
}

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

  it("says after a minute by which way, and who signed in between, and no password", () =>
    serving(ok, (api) =>
      serving(ok, (other) =>
        behindProxy("", async (_, lead) => {
          lead(Number(new URL(other.server).port));
          let minutes = 0;
          const probe = sayingHow(
            api.server,
            () => askApi({ ...api, caCertificate: "" }, "/readyz"),
            60_000,
            () => 60_000 * minutes,
          );
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
