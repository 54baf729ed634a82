import { z } from "zod";
import { CheckSkipped, expect, expectEqual } from "../../checks/check.ts";
import { checkPod, waitingContainer } from "../../checks/cluster/api.ts";
import { cniVersion } from "../../checks/facts.ts";
import { NotYet, until } from "../../checks/poll.ts";
import { hasAnswer, retryWhileUnavailable } from "../api/client.ts";
import type { Cluster } from "../cluster/cluster.ts";
import { limitsMs } from "../host/limits.ts";
import type { Wine } from "../programs/wine.ts";
import type { CheckContext, RehearsalCheck } from "./context.ts";
import { driveFile, onDrive, oneLine, onMachine, type Subject, writeDrive } from "./windowsSubject.ts";

/**
 * What only a real kubelet says of itself. Where the host has no Wine, something else has registered the nodes, and the
 * check is skipped.
 */
export function windowsKubeletCheck(later: Promise<Wine | string>): RehearsalCheck {
  return {
    id: "kubelet.exe",
    title:
      "kubelet.exe has registered each Windows node, with the system that it found, and asked for its serving certificate",
    run: async ({ api, pools, note }) => {
      const wine = await later;
      if (typeof wine === "string") throw new CheckSkipped(wine);
      const requests = (await api.certificates.listCertificateSigningRequest()).items;
      let seen = 0;
      for (const pool of pools.filter(({ os }) => os === "windows")) {
        const { items } = await api.core.listNode({ labelSelector: `fenestra.dev/pool=${pool.name}` });
        const year = pool.runtimeClass?.replace("windows-", "");
        for (const { metadata, status } of items) {
          const name = metadata?.name ?? "";
          const info = status?.nodeInfo;
          expectEqual(info?.operatingSystem, "windows", `operating system of ${name}`);
          expectEqual(info?.osImage, `Windows Server ${year} Datacenter`, `image of ${name}`);
          expectEqual(info?.kernelVersion.split(".").slice(0, 3).join("."), pool.build, `kernel of ${name}`);
          const asked = requests.filter(
            ({ spec }) =>
              spec.signerName === "kubernetes.io/kubelet-serving" && spec.username === `system:node:${name}`,
          );
          expect(asked.length > 0, `${name} has not asked for a serving certificate`);
          seen += 1;
        }
      }
      note(`${seen} nodes`);
    },
  };
}

/** The settings of a pod network whose addresses host-local gives out. */
const overlaySchema = z.looseObject({
  name: z.string(),
  hostLocal: z.string(),
  reservations: z.string(),
  conflistTemplate: z.string(),
  sourceVip: z.looseObject({ container: z.string(), interface: z.string() }),
});

type Overlay = z.output<typeof overlaySchema>;

/** Exit code and output of a program, as a PowerShell script sees them. */
interface Outcome {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

/**
 * What kube-proxy.exe says where it finds no HNS (kubernetes: pkg/proxy/winkernel/supported.go), after it has read its
 * own node (cmd/kube-proxy/app/server.go, newProxyServer).
 */
const withoutHns = "Windows kernel is not compatible for Kernel mode";

/**
 * Programs that a Windows machine's scripts start, under Wine with the payload's own arguments and files. Wine has no
 * host network service (HNS): kube-proxy.exe and the CNI plug-in read all that they are given, and end where they look
 * for it. They change nothing in the cluster.
 */
export function windowsProgramChecks(
  wine: Promise<Wine | string>,
  cluster: Cluster,
  podAddresses: "range" | "interface",
): readonly RehearsalCheck[] {
  const ofOverlay = (checked: RehearsalCheck): RehearsalCheck =>
    podAddresses === "range"
      ? checked
      : { ...checked, skip: "the plug-in of this pod network has no module that every proxy serves" };
  return [
    ofOverlay(
      onMachine(wine, cluster, {
        name: "host-local.exe",
        title: "host-local.exe keeps kube-proxy's address where the machine's scripts look for it",
        run: hostLocal,
      }),
    ),
    ofOverlay(
      onMachine(wine, cluster, {
        name: "CNI plug-in",
        title: "the CNI plug-in reads the pods' network configuration up to its first call to HNS",
        run: cniPlugin,
      }),
    ),
    onMachine(wine, cluster, {
      name: "kube-proxy.exe",
      title: "kube-proxy.exe reads its flags, its kubeconfig and its node up to its first call to HNS",
      run: kubeProxy,
    }),
  ];
}

/** What start-kube-proxy.ps1 does with the IPAM plug-in, Request-Address: a release, and an address for kube-proxy. */
async function hostLocal(subject: Subject, context: CheckContext): Promise<void> {
  const { machine, settings, programs, subnet } = subject;
  const overlay = overlaySchema.parse(settings.network);
  const { name, hostLocal: dataDir, reservations, sourceVip } = overlay;
  await machine.install(settings.programs.hostLocal, programs["host-local"]);
  const stdin = JSON.stringify({ cniVersion, name, ipam: { type: "host-local", dataDir, ranges: [[{ subnet }]] } });
  const request = async (command: string): Promise<Outcome> =>
    await machine.run([settings.programs.hostLocal], { stdin, env: cniEnvironment(command, settings, overlay) });
  for (const command of ["DEL", "ADD"]) {
    const { code, stdout } = await request(command);
    expect(code === 0, `${command} ended with exit code ${code}: ${oneLine(stdout)}`);
    if (command === "DEL") continue;
    const { ips } = z.object({ ips: z.array(z.object({ address: z.string() })).length(1) }).parse(JSON.parse(stdout));
    const address = ips[0]?.address.replace(/\/.*$/, "") ?? "";
    const reserved = await onDrive(machine, `head -n 1 '${driveFile(`${reservations}\\${address}`)}'`);
    expectEqual(reserved.trim(), sourceVip.container, `${reservations}\\${address}, by which the script knows its own`);
    context.note(`${address} of ${subnet}`);
  }
}

function cniEnvironment(
  command: string,
  { paths }: Subject["settings"],
  { sourceVip }: Overlay,
): Readonly<Record<string, string>> {
  const { container, interface: name } = sourceVip;
  return {
    CNI_COMMAND: command,
    CNI_CONTAINERID: container,
    CNI_NETNS: container,
    CNI_IFNAME: name,
    CNI_PATH: paths.cniBin,
  };
}

const conflistSchema = z.looseObject({
  cniVersion: z.string(),
  name: z.string(),
  plugins: z.tuple([z.looseObject({ delegate: z.looseObject({ type: z.string() }) })]),
});

/**
 * What flannel.exe hands on (flannel-io/cni-plugin: flannel_windows.go, doCmdAdd): its delegate with the list's name
 * and version, and the node's range.
 */
async function cniPlugin(subject: Subject, context: CheckContext): Promise<void> {
  const { machine, settings, programs, subnet } = subject;
  const overlay = overlaySchema.parse(settings.network);
  const { conflistTemplate, name: network } = overlay;
  const text = machine.joined.files.find(({ path }) => path === conflistTemplate)?.content ?? "";
  const { cniVersion, name, plugins } = conflistSchema.parse(JSON.parse(text));
  const delegate = plugins[0].delegate;
  const program = `${settings.paths.cniBin}\\${delegate.type}.exe`;
  await machine.install(program, programs["cni-plugin"]);
  const { code, stdout } = await machine.run([program], {
    stdin: JSON.stringify({ ...delegate, cniVersion, name, ipam: { type: "host-local", subnet } }),
    env: cniEnvironment("ADD", settings, overlay),
  });
  expect(code !== 0, "it made an endpoint without HNS");
  const { msg } = z.object({ msg: z.string() }).parse(JSON.parse(stdout));
  expect(msg.includes(`hcn.GetNetworkByName(${network})`), msg);
  context.note(msg);
}

/**
 * What start-kube-proxy.ps1 and pod.ps1 do once there is a network: a kubeconfig with the pod's token, and the
 * payload's command line.
 */
async function kubeProxy({ machine, settings, programs }: Subject, { api, note }: CheckContext): Promise<void> {
  const { program, kubeconfig, arguments: flags } = settings.kubeProxy;
  const { fill } = machine.joined;
  const pods = (await api.core.listPodForAllNamespaces({ fieldSelector: `spec.nodeName=${machine.name}` })).items;
  const pod = pods.find(({ spec }) =>
    spec?.containers[0]?.command?.some((word) => word.endsWith("start-kube-proxy.ps1")),
  );
  expect(pod?.spec?.serviceAccountName !== undefined, `no pod on ${machine.name} starts kube-proxy`);
  const { status } = await api.core.createNamespacedServiceAccountToken({
    name: pod.spec.serviceAccountName,
    namespace: pod.metadata?.namespace ?? "",
    body: { spec: { audiences: [] } },
  });
  await writeDrive(machine, settings.paths.serviceAccountToken, status?.token ?? "");
  await writeDrive(
    machine,
    kubeconfig,
    JSON.stringify({
      apiVersion: "v1",
      kind: "Config",
      "current-context": "node",
      clusters: [
        {
          name: "cluster",
          cluster: { server: fill("@API_SERVER@"), "certificate-authority": settings.paths.clusterCa },
        },
      ],
      users: [{ name: "pod", user: { tokenFile: settings.paths.serviceAccountToken } }],
      contexts: [{ name: "node", context: { cluster: "cluster", user: "pod" } }],
    }),
  );
  await machine.install(program, programs["kube-proxy"]);
  const argv = [program, ...flags.map((flag) => flag.replace("@SOURCE_VIP@", "10.0.0.1"))];
  const { code, stdout, stderr } = await machine.run(argv);
  const reason = /"(?:command failed|Error running ProxyServer)" err="((?:[^"\\]|\\.)*)"/.exec(stdout + stderr)?.[1];
  const last = reason ?? (stdout + stderr).trim().split("\n").at(-1) ?? "";
  expect(last === withoutHns, `it ended with exit code ${code}: ${last}`);
  note(last);
}

export function windowsDrainCheck(wine: Promise<Wine | string>, cluster: Cluster): RehearsalCheck {
  return onMachine(wine, cluster, {
    name: "kubectl.exe",
    title: "kubectl.exe drains the node with the kubelet's own certificate",
    run: kubectl,
  });
}

/** What drain.ps1 does: cordon, its own pods, one eviction, and what is left at the deadline. */
async function kubectl(subject: Subject, context: CheckContext): Promise<void> {
  const { api, kubectl: asAdministrator, namespace, pools, waitingImage, signal, note } = context;
  const { machine, settings, programs } = subject;
  const { name: node } = machine;
  await machine.install(settings.programs.kubectl, programs.kubectl);
  const run = async (...args: readonly string[]): Promise<string> => {
    const argv = [
      settings.programs.kubectl,
      "--kubeconfig",
      settings.paths.kubeconfig,
      "--request-timeout",
      "10s",
      ...args,
    ];
    const { code, stdout, stderr } = await retryWhileUnavailable(() => machine.run(argv), hasAnswer);
    expect(code === 0, `kubectl.exe ${args.slice(0, 2).join(" ")} ended with exit code ${code}: ${oneLine(stderr)}`);
    return stdout.replaceAll("\r", "");
  };
  const pool = (await api.core.readNode({ name: node })).metadata?.labels?.["fenestra.dev/pool"];
  const runtimeClassName = pools.find(({ name }) => name === pool)?.runtimeClass ?? "";
  const names = ["drain-evicted", "drain-deleted"];
  try {
    for (const name of names)
      await api.core.createNamespacedPod({
        namespace,
        body: checkPod(name, {
          os: { name: "windows" },
          runtimeClassName,
          nodeSelector: { "kubernetes.io/hostname": node },
          containers: [waitingContainer(waitingImage)],
        }),
      });
    await run("cordon", node);
    expectEqual((await api.core.readNode({ name: node })).spec?.unschedulable, true, `unschedulable of ${node}`);
    const columns = await run(
      ...["get", "pods", "--all-namespaces", "--field-selector", `spec.nodeName=${node}`, "--no-headers"],
      ...["-o", `custom-columns=${settings.drain.columns}`],
    );
    const found = columns
      .trim()
      .split("\n")
      .map((line) => line.trim().split(/\s+/));
    const wanted = (await api.core.listPodForAllNamespaces({ fieldSelector: `spec.nodeName=${node}` })).items;
    expectEqual(
      found.map(([space, name, , owners]) => [space, name, owners]),
      wanted.map(({ metadata }) => [
        metadata?.namespace,
        metadata?.name,
        metadata?.ownerReferences?.map(({ kind }) => kind).join(",") ?? "<none>",
      ]),
      "namespace, name and owners of the node's pods, in the columns that the script reads",
    );
    const [evicted = "", deleted = ""] = names;
    const file = `${settings.paths.state}/eviction.json`;
    const eviction = { apiVersion: "policy/v1", kind: "Eviction", metadata: { name: evicted, namespace } };
    await writeDrive(machine, file, JSON.stringify(eviction));
    await run("create", "--raw", `/api/v1/namespaces/${namespace}/pods/${evicted}/eviction`, "-f", file);
    await run("delete", "pod", deleted, "--namespace", namespace, "--wait=false");
    const left = async (): Promise<void> => {
      const present = (await api.core.listNamespacedPod({ namespace })).items.map(
        ({ metadata }) => metadata?.name ?? "",
      );
      if (names.some((name) => present.includes(name))) throw new NotYet(`${present.join(", ")} are there`);
    };
    await until("both pods to be gone", { signal, limitMs: limitsMs.answer, intervalMs: 200 }, left);
    note(`${found.length} pods on ${node}`);
  } finally {
    await asAdministrator(["uncordon", node]);
  }
}
