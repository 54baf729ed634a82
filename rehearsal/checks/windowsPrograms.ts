import { z } from "zod";
import { expect, expectEqual } from "../../checks/check.ts";
import { cniVersion } from "../../checks/facts.ts";
import type { Cluster } from "../cluster/cluster.ts";
import type { Wine } from "../programs/wine.ts";
import type { CheckContext, RehearsalCheck } from "./context.ts";
import { driveFile, onDrive, oneLine, onMachine, type Subject, writeDrive } from "./windowsSubject.ts";

/** What a pod network has whose addresses host-local gives out. */
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
 * What kube-proxy.exe says of an HNS that it does not find (kubernetes: pkg/proxy/winkernel/supported.go). It asks for it after it has read
 * its own node (cmd/kube-proxy/app/server.go, newProxyServer).
 */
const withoutHns = "Windows kernel is not compatible for Kernel mode";

/**
 * Programs that the scripts of a Windows machine start, under Wine with the payload's own arguments and files. Wine has no host network
 * service (HNS): kube-proxy.exe and the CNI plug-in read everything that they are given, and end where they look for it. They change
 * nothing in the cluster.
 */
export function windowsProgramChecks(
  wine: Promise<Wine | string>,
  cluster: Cluster,
  podAddresses: "range" | "interface",
): readonly RehearsalCheck[] {
  const ofOverlay = (checked: RehearsalCheck): RehearsalCheck =>
    podAddresses === "range" ? checked : { ...checked, skip: "the plug-in of this pod network has no module that every proxy serves" };
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

function cniEnvironment(command: string, { paths }: Subject["settings"], { sourceVip }: Overlay): Readonly<Record<string, string>> {
  const { container, interface: name } = sourceVip;
  return { CNI_COMMAND: command, CNI_CONTAINERID: container, CNI_NETNS: container, CNI_IFNAME: name, CNI_PATH: paths.cniBin };
}

const conflistSchema = z.looseObject({
  cniVersion: z.string(),
  name: z.string(),
  plugins: z.tuple([z.looseObject({ delegate: z.looseObject({ type: z.string() }) })]),
});

/**
 * What flannel.exe hands on (flannel-io/cni-plugin: flannel_windows.go, doCmdAdd): its delegate with the list's name and version, and the
 * node's range.
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
 * What start-kube-proxy.ps1 and pod.ps1 do once the network is there: a kubeconfig with the pod's token, and the payload's command line.
 */
async function kubeProxy({ machine, settings, programs }: Subject, { api, note }: CheckContext): Promise<void> {
  const { program, kubeconfig, arguments: flags } = settings.kubeProxy;
  const { fill } = machine.joined;
  const pods = (await api.core.listPodForAllNamespaces({ fieldSelector: `spec.nodeName=${machine.name}` })).items;
  const pod = pods.find(({ spec }) => spec?.containers[0]?.command?.some((word) => word.endsWith("start-kube-proxy.ps1")));
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
      clusters: [{ name: "cluster", cluster: { server: fill("@API_SERVER@"), "certificate-authority": settings.paths.clusterCa } }],
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
