import { z } from "zod";
import { expect, expectEqual } from "../../checks/check.ts";
import { registryFolder } from "../../checks/facts.ts";
import { type DecodedFile, fileContent } from "../../plan/decode/userData.ts";
import type { MirrorList } from "../../plan/report/mirrorList.ts";
import { type MirrorOnly, placeOnMirror } from "../clouds/mirror.ts";
import type { LookUp } from "../clouds/nameServer.ts";
import type { LinuxMachine } from "../machines/linuxMachine.ts";
import type { RehearsalCheck } from "./context.ts";
import { type ImageSources, imagesCheck, registriesCheck, workloads } from "./mirrorImages.ts";

interface MirrorSources extends ImageSources {
  /** Hosts looked up that do not exist, a live list. */
  readonly lookUps: readonly LookUp[];
  /** Whether the machines may also ask publishers. */
  readonly wayOut: boolean;
}

/** Checks of a stack whose machines reached nothing but its mirror. */
export function mirrorChecks(of: MirrorSources): readonly RehearsalCheck[] {
  return [
    filesCheck(of),
    windowsCheck(of),
    nothingElseCheck(of),
    ...(of.mirror.artifacts === undefined ? [] : [registriesCheck(of)]),
    imagesCheck(of),
    ...(of.mirror.proxyLogin === undefined ? [] : [loginsCheck(of)]),
  ];
}

/** Files of the list as machines name them: place on the mirror to digest, `-` for none. */
function heldFiles({ artifacts, list }: MirrorOnly): ReadonlyMap<string, string> {
  return new Map(list.files.map(({ url, digest }) => [placeOnMirror(artifacts, url), digest ?? "-"]));
}

/** Where a Linux machine's scripts note what they installed: URL and digest, one file per artifact. */
const installedFolder = "/var/lib/fenestra/artifacts";

function filesCheck({ mirror, decoded, running }: MirrorSources): RehearsalCheck {
  return {
    id: "mirror: files",
    title: "every program on a Linux machine came from the mirror, which held only what `fenestra mirror --list` names",
    run: async ({ note }) => {
      const held = heldFiles(mirror);
      for (const { machine, payload } of decoded.filter(({ payload: { system } }) => system === "linux"))
        for (const line of fileContent(payload, "/etc/fenestra/artifacts.tsv").trimEnd().split("\n")) {
          const [name, url = "", algorithm, digest] = line.split("\t");
          const named = digest === "-" ? "-" : `${algorithm}:${digest}`;
          expectEqual(held.get(url), named, `digest of ${name} for ${machine.name} in the list, by ${url}`);
        }
      const fetched = new Set(mirror.requests.filter(({ status }) => status === 200).map(({ url }) => url));
      let installed = 0;
      for (const { name, run } of running()) {
        const { stdout } = await run(["bash", "-c", `cat ${installedFolder}/*`]);
        const urls = stdout
          .trimEnd()
          .split("\n")
          .map((line) => line.split(" ")[0] ?? "");
        expect(urls.length > 1, `${name} has installed nothing`);
        for (const url of urls) expect(fetched.has(url), `${name} has ${url}, which the mirror did not hand out`);
        installed += urls.length;
      }
      note(
        `${mirror.list.files.length} files on the mirror, ${installed} installed from it on ${running().length} machines`,
      );
    },
  };
}

/** Index of the name of a configuration file among curl's arguments. */
function curlConfig(curl: readonly string[]): number {
  return curl.includes("--config") ? curl.indexOf("--config") + 1 : -1;
}

const windowsMachine = z.looseObject({
  curl: z.array(z.string()),
  cloud: z.looseObject({ joinVault: z.string().optional() }),
  credentials: z
    .object({ secret: z.string(), files: z.array(z.object({ template: z.string(), path: z.string() })) })
    .optional(),
  artifacts: z.array(
    z.looseObject({
      name: z.string(),
      urls: z.array(z.string()),
      checksumUrls: z.array(z.string()),
      algorithm: z.string(),
      digest: z.string(),
    }),
  ),
});

function windowsCheck(of: MirrorSources): RehearsalCheck {
  const { mirror, decoded, running, wayOut } = of;
  return {
    id: "mirror: downloads of Windows",
    title: "what Windows machines and pods would download is on the mirror, by their own arguments for curl",
    run: async ({ cloud, kubectl, note }) => {
      const held = heldFiles(mirror);
      const wanted = new Set<string>();
      let config = "";
      let curl: readonly string[] = [];
      for (const { machine, payload } of decoded.filter(({ payload: { system } }) => system === "windows")) {
        const settings = windowsMachine.parse(JSON.parse(fileContent(payload, "C:\\fenestra\\machine.json")));
        curl = settings.curl;
        const { credentials, cloud: access } = settings;
        if (credentials !== undefined) {
          const vault = access.joinVault === undefined ? "" : `${access.joinVault}/secrets/`;
          const logins = Object.entries<unknown>(
            JSON.parse(await cloud.readSecret(machine, vault + credentials.secret)),
          );
          // As stage-credentials.ps1 does.
          const { template = "" } =
            credentials.files.find(({ path }) => path === settings.curl.at(curlConfig(curl))) ?? {};
          config = logins.reduce(
            (text, [name, login]) => text.replaceAll(`@${name}@`, String(login)),
            fileContent(payload, template),
          );
        }
        for (const { name, urls, checksumUrls, algorithm, digest } of settings.artifacts) {
          const [first = ""] = urls;
          const named = digest === "" ? "-" : `${algorithm}:${digest}`;
          expectEqual(held.get(first), named, `digest of ${name} for ${machine.name} in the list, by ${first}`);
          for (const url of [first, ...checksumUrls.slice(0, 1)]) wanted.add(url);
        }
        if (!wayOut) expectNoPublisher(mirror.list, machine.name, payload.files);
      }
      const objects = await workloads(kubectl, "json");
      if (!wayOut) expectNoPublisher(mirror.list, "the cluster", [{ path: "workloads", content: objects, mode: "" }]);
      for (const url of mirror.artifacts === undefined ? [] : urlsBelow(mirror.artifacts, objects)) wanted.add(url);
      const [from] = running();
      expect(from !== undefined && wanted.size > 0, "there is nothing to download, or no machine to do it");
      for (const url of wanted) {
        const own = curl.map((argument, index) => (index === curlConfig(curl) ? "-" : argument));
        const { code, stderr } = await from.run(["curl", ...own, "--output", "/dev/null", url], { stdin: config });
        expect(code === 0, `${url}: ${stderr.trim()}`);
      }
      note(`${wanted.size} downloads tried from ${from.name}`);
    },
  };
}

/** URLs below a base URL that a text names. */
function urlsBelow(base: string, text: string): readonly string[] {
  const root = base.replace(/\/+$/, "");
  return (text.match(/https?:\/\/[^\s"'\\,<>]+/g) ?? []).filter((url) => url.startsWith(`${root}/`));
}

function expectNoPublisher({ files }: MirrorList, who: string, texts: readonly DecodedFile[]): void {
  for (const { path, content } of texts)
    for (const { url } of files) expect(!content.includes(url), `${who}: ${path} names ${url}, which is out of reach`);
}

function nothingElseCheck({ mirror, lookUps, running }: MirrorSources): RehearsalCheck {
  const { list, artifacts, httpProxy, proxyLogin, issuers = [], proxied } = mirror;
  const ofFiles = new Set(list.files.map(({ url }) => new URL(url).hostname));
  const publishers = new Set([...ofFiles, ...list.images.map(({ reference }) => reference.split("/")[0] ?? "")]);
  return {
    id: "mirror: nothing else",
    title: "no machine looked for another host, and no publisher can be reached",
    run: async ({ note }) => {
      const names = lookUps
        .filter(({ name }) => !issuers.includes(name))
        .map(({ caller, name }) => `${name} by ${caller}`);
      expectEqual([...new Set(names)], [], "names that machines looked up and that this network does not have");
      const refused = proxied.filter((request) => request.refused);
      expectEqual([...new Set(refused.map(({ target }) => target))], [], "hosts that the proxy refused");
      const machines = running();
      if (httpProxy !== undefined) {
        const callers = [...new Set(proxied.map(({ caller }) => caller))].sort();
        expectEqual(callers, machines.map(({ address }) => address).sort(), "machines that used the proxy");
      }
      const [from] = machines;
      expect(from !== undefined, "no machine runs");
      // What follows also shows that look-ups and requests are seen at all.
      for (const host of publishers) {
        const asked = lookUps.length;
        const direct = await head(from, host, ["--noproxy", "*"]);
        expectEqual(direct, cannotResolve, `exit code of curl to ${host}`);
        expect(
          lookUps.slice(asked).some(({ name }) => name === host),
          `the name server did not see the look-up of ${host}`,
        );
        if (httpProxy === undefined || (artifacts === undefined && ofFiles.has(host))) continue;
        const login = proxyLogin === undefined ? [] : ["--proxy-user", proxyLogin];
        expect((await head(from, host, ["--proxy", httpProxy, ...login])) !== 0, `the proxy leads to ${host}`);
        expect(
          proxied.some(({ refused, denied, target }) => refused && !denied && target === `${host}:443`),
          `the proxy did not see the request for ${host}`,
        );
      }
      if (httpProxy !== undefined && proxyLogin !== undefined) {
        const { host } = new URL(artifacts ?? list.files[0]?.url ?? "");
        const asked = proxied.length;
        expect((await head(from, host, ["--proxy", httpProxy])) !== 0, `the proxy leads to ${host} without its login`);
        const denied = proxied.slice(asked).some((request) => request.denied && request.caller === from.address);
        expect(denied, "the proxy did not ask for its login");
      }
      const way =
        httpProxy === undefined ? "" : `; ${proxied.length - refused.length - publishers.size} requests by the proxy`;
      note(`out of reach: ${[...publishers].sort().join(", ")}${way}`);
    },
  };
}

function loginsCheck({ mirror, registries, decoded, running }: MirrorSources): RehearsalCheck {
  return {
    id: "mirror: logins",
    title:
      "logins are on Linux machines in files for root alone, and in no user data, log or command line; the mirror's registry takes them",
    run: async ({ note }) => {
      const logins = [mirror.proxyLogin, mirror.mirrorLogin].filter((login) => login !== undefined);
      const forms = logins.flatMap((login) => {
        const password = login.split(":").at(-1) ?? "";
        return [password, encodeURIComponent(password), Buffer.from(login).toString("base64")];
      });
      for (const { machine, payload } of decoded)
        for (const { path, content } of payload.files)
          expect(
            !forms.some((form) => content.includes(form)),
            `${machine.name} has a login in its user data: ${path}`,
          );
      const templates = "/etc/fenestra/templates";
      const made = new Set(
        decoded.flatMap(({ payload }) =>
          payload.files.flatMap(({ path }) => (path.startsWith(templates) ? [path.slice(templates.length)] : [])),
        ),
      );
      // A class of one character keeps grep from finding itself.
      const pattern = forms.map((form) => `-e '${form.replace(/[[\]]/g, "\\$&").replace(/\w/, "[$&]")}'`).join(" ");
      const folders = "/etc /opt /root /run /tmp /var/lib/cloud /var/lib/fenestra /var/lib/kubelet /var/log";
      for (const { name, run } of running()) {
        const found = await run([
          "bash",
          "-c",
          `grep -rlsI --devices=skip ${pattern} ${folders} | LC_ALL=C sort | xargs -r stat --format '%a %U %n'; grep -lsa ${pattern} /proc/[0-9]*/cmdline`,
        ]);
        expectEqual(
          found.stdout.trim().split("\n"),
          [...made].sort().map((path) => `600 root ${path}`),
          `files with a login on ${name}`,
        );
        for (const url of mirror.mirrorLogin === undefined ? [] : new Set(Object.values(registries))) {
          const { stdout } = await run([
            "bash",
            "-c",
            `set -a; . /etc/fenestra/proxy.env; ask() { curl -q --silent --output /dev/null --write-out '%{http_code} ' "$@" '${url}/'; }
             grep -rh -A9 -F '[host."${url}"' ${registryFolder} | sed -n 's/^Authorization = "/header = "Authorization: /p' | ask --config -; ask`,
          ]);
          expectEqual(
            stdout.trim(),
            "200 401",
            `answers of ${url} to ${name}, with the login of hosts.toml and without`,
          );
        }
      }
      note(`${running().length} machines`);
    },
  };
}

/** curl's exit code for a host name that does not resolve (curl(1)). */
const cannotResolve = 6;

/** Exit code of a curl that asks a host. */
async function head(from: LinuxMachine, host: string, options: readonly string[]): Promise<number> {
  const { code } = await from.run([
    "curl",
    "--silent",
    "--head",
    "--connect-timeout",
    "5",
    ...options,
    `https://${host}/`,
  ]);
  return code;
}
