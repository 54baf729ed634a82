import assert from "node:assert/strict";
import fc from "fast-check";
import { addonsSchema } from "../../components/config/addOnSchema.ts";
import { addOnList } from "../../components/kubernetes/addOnList.ts";
import { credentialSpecContent, pluginHost } from "../../components/kubernetes/addOns/gmsa.ts";
import { classForImages, imageReleases, tagPattern, tokensOf } from "../../components/kubernetes/guardRails/places.ts";
import { runtimeClassProbes } from "../../components/kubernetes/guardRails.ts";
import { podSpec } from "../../components/kubernetes/manifest.ts";
import { systemNamespaces } from "../../components/model/nodeSettings.ts";
import { windowsReleases } from "../../components/model/operatingSystems.ts";
import { monitors } from "../support/alerts.ts";
import {
  combinations,
  gmsa,
  gmsaSecrets,
  manifestsOf,
  planOf,
  specOfTitle,
  subjectsOf,
  withPools,
} from "./switches.ts";

const everything = specOfTitle("aws-dev, everything on");

describe("guard rails", () => {
  it("look for a release by its pattern wherever that would find it", () => {
    for (const release of imageReleases)
      fc.assert(
        fc.property(fc.stringMatching(new RegExp(tagPattern(release))), (image) =>
          tokensOf(release).some((token) => image.includes(token)),
        ),
      );
  });

  it("tell each release by its own tags and by no other's", () => {
    const told = (image: string) =>
      imageReleases.flatMap((release) => (new RegExp(tagPattern(release)).test(image) ? [release.name] : [])).join();
    const images: Readonly<Record<string, readonly string[]>> = {
      "windows-2019": [
        ...[
          "x/y:windowsservercore-ltsc2019",
          "x/nanoserver:1809-amd64",
          "x:v1-windows-1809-amd64",
          "r/a:1.0-windowsservercore1809",
        ],
        ...["mcr.microsoft.com/dotnet/sdk:3.1-nanoserver-1809", "mcr.microsoft.com/windows/nanoserver:10.0.17763.5329"],
      ],
      "windows-2022": [
        ...[
          "fluent/fluent-bit:windows-2022-5.0.0",
          "mcr.microsoft.com/windows/nanoserver:10.0.20348.2340",
          "x:1.2.3-nano-ltsc2022",
          "x:3.8.0-windows-ltsc-2022",
          "x:win2022",
        ],
        `mcr.microsoft.com/windows/servercore:ltsc2022@sha256:${"0".repeat(64)}`,
      ],
      "windows-2025": ["mcr.microsoft.com/windows/servercore:ltsc2025"],
      "20H2": ["mcr.microsoft.com/windows/servercore:20H2", "x/nanoserver:20h2"],
      "1909": ["mcr.microsoft.com/windows/nanoserver:1909"],
      "1709": ["microsoft/windowsservercore:1709", "microsoft/iis:windowsservercore-1709"],
      "": [
        "registry:1809/x:v1",
        "nanoserver:1809/x:v1",
        "shop/app:1909",
        "shop/app:2022",
        "shop/app:2004-rc",
        "agnhost:2.62",
        "x",
      ],
    };
    for (const [release, own] of Object.entries(images))
      for (const image of own) assert.equal(told(image), release, image);
  });

  it("pair images with builds as Windows can run them", () => {
    const [w2019, w2022, w2025] = windowsReleases;
    assert.ok(w2019 !== undefined && w2022 !== undefined && w2025 !== undefined);
    assert.equal(classForImages(w2022, [w2019, w2022, w2025]), "windows-2022");
    assert.equal(classForImages(w2022, [w2019, w2025]), "windows-2025");
    assert.equal(classForImages(w2019, [w2022, w2025]), "");
    assert.equal(classForImages(w2025, [w2022]), "");
  });

  it("show by their probes whether the policy in force is the one for a cluster's present builds", () => {
    const sets = fc.subarray([...windowsReleases], { minLength: 1 });
    fc.assert(
      fc.property(sets, sets, (before, after) => {
        const [wanted, shown] = [runtimeClassProbes(after), runtimeClassProbes(before)];
        const same = before.map(({ name }) => name).join() === after.map(({ name }) => name).join();
        assert.equal(JSON.stringify(wanted) === JSON.stringify(shown), same);
        // Without a policy no pod gets a class, and that must show too.
        assert.ok(wanted.some(({ runtimeClass }) => runtimeClass !== undefined));
      }),
    );
  });
});

describe("node problem detector on Windows", () => {
  it("is not sent to Windows Server 2019, for which its image has no part", () => {
    assert.deepEqual(
      manifestsOf(
        withPools(
          everything,
          everything.pools.filter(({ release }) => release.name !== "windows-2022"),
        ),
      ).filter(({ metadata }) => metadata.name === "node-problem-detector-windows"),
      [],
    );
  });
});

describe("system workloads", () => {
  it("have a class, and a token only with a right; Leases are named", () => {
    let [pods, bare] = [0, 0];
    for (const { title, spec } of combinations) {
      const all = manifestsOf(spec);
      const bound = subjectsOf(all).map(({ namespace, name }) => `${namespace}:${name}`);
      for (const each of all) {
        const [pod, { name, namespace }] = [podSpec(each), each.metadata];
        const what = `${title}: ${each.kind} ${name}`;
        if (each.kind === "Role" || each.kind === "ClusterRole")
          for (const { resources, verbs, resourceNames } of each.rules ?? [])
            if (resources?.includes("leases"))
              assert.ok(resourceNames !== undefined || String(verbs) === "create", what);
        if (pod === undefined || !systemNamespaces(spec).includes(namespace ?? "")) continue;
        pods += 1;
        assert.match(String(pod.priorityClassName), /^system-/, what);
        if (bound.includes(`${namespace}:${pod.serviceAccountName}`)) continue;
        bare += 1;
        assert.equal(pod.automountServiceAccountToken, false, `${what} has a token without a right`);
      }
    }
    assert.ok(pods > 100 && bare > 5);
  });

  it("of several pods are spread over machines, and keep one pod through a drain", () => {
    let several = 0;
    for (const { title, spec } of combinations) {
      const all = manifestsOf(spec);
      for (const each of all) {
        if (each.kind !== "Deployment" || !systemNamespaces(spec).includes(each.metadata.namespace ?? "")) continue;
        const alone = each.spec?.replicas === 1;
        several += alone ? 0 : 1;
        const { name } = each.metadata;
        const labels = each.spec?.selector.matchLabels;
        const spread = podSpec(each)?.topologySpreadConstraints ?? [];
        assert.deepEqual(
          spread.map(({ topologyKey, labelSelector }) => [topologyKey, labelSelector?.matchLabels]),
          alone ? [] : [["kubernetes.io/hostname", labels]],
          `${title}: ${name}`,
        );
        assert.deepEqual(
          all.flatMap((other) =>
            other.kind === "PodDisruptionBudget" && other.metadata.name === name ? [other.spec] : [],
          ),
          alone
            ? []
            : [{ maxUnavailable: 1, unhealthyPodEvictionPolicy: "AlwaysAllow", selector: { matchLabels: labels } }],
          `${title}: ${name}`,
        );
      }
    }
    assert.ok(several > 0);
  });
});

describe("the list of add-ons", () => {
  it("has one for every setting, but for those that only shape another's objects", () => {
    const known = new Set(addOnList.flatMap(({ settings = [] }) => settings));
    assert.deepEqual(
      Object.keys(addonsSchema.shape).filter((key) => ![...known].some((setting) => setting === key)),
      [],
    );
    assert.equal(new Set(addOnList.map(({ name }) => name)).size, addOnList.length);
  });
});

describe("ServiceMonitors for the Prometheus operator", () => {
  it("choose each exporter's Service and a port that it has", () => {
    const chosen = manifestsOf(everything).flatMap((each) => {
      if (each.kind !== "Service" || each.spec?.selector?.["app.kubernetes.io/part-of"] === undefined) return [];
      const { name = "", namespace, labels = {} } = each.metadata;
      const of = monitors.filter(
        ({ metadata, spec: { selector, endpoints } }) =>
          metadata.namespace === namespace &&
          Object.entries(selector.matchLabels).every(([key, value]) => labels[key] === value) &&
          endpoints.every(({ port }) => each.spec?.ports?.some((own) => own.name === port)),
      );
      return of.map(() => name);
    });
    assert.deepEqual(chosen.toSorted(), ["node-exporter", "windows-exporter"]);
    assert.equal(monitors.length, 2);
  });
});

describe("switches", () => {
  it("leave add-ons out, and never the RuntimeClasses and the network", () => {
    const names = (title: string) => planOf(specOfTitle(title)).map(({ name }) => name);
    assert.deepEqual(names("aws-dev, everything off"), [
      "runtime-classes",
      "sign-in",
      "networking",
      "node-controller",
      "inventory",
    ]);
    const all = [...addOnList.map(({ name }) => name), "pod-warnings", "inventory"];
    assert.deepEqual(names("aws-prod, everything on"), all);
  });

  it("make no sample that lacks its add-on", () => {
    assert.deepEqual(
      manifestsOf(specOfTitle("aws-dev, samples alone")).filter(
        (each) =>
          each.kind === "PersistentVolumeClaim" ||
          (each.kind === "HorizontalPodAutoscaler" && each.metadata.namespace !== "kube-system") ||
          (each.kind === "Service" && each.spec?.type === "LoadBalancer"),
      ),
      [],
    );
  });

  it("tell the plug-in where the secret lies in the cloud's own words, and nothing for nodes of the domain", () => {
    const [web, reports] = gmsa("aws").credentialSpecs;
    assert.ok(web !== undefined && reports !== undefined);
    assert.deepEqual(pluginHost("aws", web, undefined), {
      classId: "859E1386-BDB4-49E8-85C7-3070B13920E1",
      input: `{"credentialArn":"${gmsaSecrets.aws}"}`,
    });
    assert.equal(pluginHost("aws", reports, undefined), undefined);
    assert.ok(!("HostAccountConfig" in credentialSpecContent(reports, undefined).ActiveDirectoryConfig));
    assert.equal(
      credentialSpecContent({ ...web, domain: { ...web.domain, forest: "example.com" } }, undefined).DomainJoinConfig
        .DnsTreeName,
      "example.com",
    );
    const onAzure = gmsa("azure").credentialSpecs[0] ?? assert.fail();
    assert.throws(() => pluginHost("azure", onAzure, undefined), /the secret of the account web needs an identity/);
  });
});
