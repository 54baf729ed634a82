import { loadConfig } from "../../../components/config/load.ts";
import { bakeData } from "../../../components/machine/windows/bake.ts";
import { windowsWorkerPayload } from "../../../components/machine/windows/worker.ts";
import { clusterSpec } from "../../../components/model/clusterSpec.ts";
import { configTexts, stackConfig } from "../../support/stacks.ts";
import { exampleAccess, windowsPool } from "../examples.ts";

/**
 * The files, by path, of a machine of a pool that has all that one may have. Its logins are no secrets: they never leave
 * the test.
 */
export function fullPayload(): Readonly<Record<string, string>> {
  const login = { username: "u", password: "p" };
  const host = "mirror.example.com:8443";
  const wanted = {
    httpProxy: "http://proxy.example.com:3128",
    proxyCredentials: login,
    registryCredentials: { [host]: login },
    mirror: { artifacts: `https://${host}/files`, registries: { "registry.k8s.io": `https://${host}/v2/k8s` } },
  };
  const config = { ...stackConfig("aws-dev"), ...configTexts(wanted) };
  const spec = clusterSpec(loadConfig(config, undefined, () => true));
  const own = { timeZone: "UTC", annotations: { a: "b" }, beforeJoin: "exit 0", afterJoin: "exit 0" };
  const pool = { ...windowsPool(spec), ...own };
  const access = exampleAccess(spec, pool.name);
  const cloud = { ...access.cloud, credentials: "logins" };
  const { files } = windowsWorkerPayload({ spec, pool, access: { ...access, cloud } });
  const bake = bakeData({ spec, pool, files, product: "1.2.3", base: "ami-1", images: ["a@sha256:1", "b@sha256:2"] });
  const forBake = { path: "C:\\fenestra\\bake.json", content: JSON.stringify(bake) };
  return Object.fromEntries([...files, forBake].map(({ path, content }) => [path, content]));
}
