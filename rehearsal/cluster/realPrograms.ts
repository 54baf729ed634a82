import type { V1ContainerStatus, V1Pod } from "@kubernetes/client-node";
import type { Api } from "../api/client.ts";
import { programOf } from "../programs/addOns.ts";
import { meantRefusals } from "../programs/addOnTable.ts";
import { auditEventOf, auditLogs, hostileAgent, inMachines, type Machines } from "./inspect.ts";

/** A container on Linux whose own program runs. */
export interface RealContainer {
  readonly pod: V1Pod;
  readonly status: V1ContainerStatus | undefined;
  readonly name: string;
  readonly program: string;
  /** Its first port. */
  readonly port: number | undefined;
  /** Address of its readiness without what a host may be unable to measure. */
  readonly unmeasured: string | undefined;
}

export async function realContainers(api: Api): Promise<readonly RealContainer[]> {
  return (await api.core.listPodForAllNamespaces()).items.flatMap((pod) =>
    (pod.spec?.os?.name === "windows" ? [] : (pod.spec?.containers ?? [])).flatMap(({ name, image = "", ports }) => {
      const known = programOf(image);
      const status = pod.status?.containerStatuses?.find((candidate) => candidate.name === name);
      const port = ports?.[0]?.containerPort;
      const address = `https://${pod.status?.podIP}:${port}`;
      const unmeasured = known?.unmeasured === undefined ? undefined : `${address}${known.unmeasured}`;
      return known === undefined ? [] : [{ pod, name, program: known.name, status, port, unmeasured }];
    }),
  );
}

/** Exit code of a program that has ended, if only to start again. */
export function exitCode({ status }: RealContainer): number | undefined {
  return (status?.lastState?.terminated ?? status?.state?.terminated)?.exitCode;
}

/** What is wrong with a container, with the line of its log that says it: the last error, else the last line. */
export async function complaint(machines: Machines, container: RealContainer): Promise<string> {
  const { namespace, name: podName, uid } = container.pod.metadata ?? {};
  const logs = await inMachines(machines, `cat /var/log/pods/${namespace}_${podName}_${uid}/${container.name}/*.log`);
  const lines = logs.map((line) => line.replace(/^\S+ std(?:out|err) [FP] /, ""));
  // Usage follows it, whose errors are a matter of flags.
  const flag = lines.find((line) => /unknown (?:long )?flag|not defined/i.test(line));
  const last = flag ?? lines.findLast((line) => /\berror\b|^E\d{4}|forbidden/i.test(line));
  const words = (last ?? lines.at(-1) ?? "it said nothing").slice(0, 500);
  const code = exitCode(container);
  return `${podName}, ${container.program} ${code === undefined ? "is not ready" : `ended with exit code ${code}`}: ${words}`;
}

/** What service accounts were refused, each once, with the program that asked. */
export async function refusals(machines: Machines): Promise<readonly string[]> {
  // Neither what a check asked for with their identities (`hostile worker`), nor what is too late for a namespace.
  const others = `grep --invert-match --regexp '"userAgent":"${hostileAgent}"' --regexp 'because it is being terminated'`;
  const audited = await inMachines(
    machines,
    `grep --text --no-filename '"code":403' ${auditLogs} | grep '"username":"system:serviceaccount:' | ${others}`,
  );
  const said = await inMachines(machines, "grep -rhiE 'is forbidden|403 Forbidden' /var/log/pods");
  const unmeant = (all: readonly string[]) =>
    all.filter((each) => !meantRefusals.some(([refusal]) => refusal.test(each)));
  const asked = audited.map((line) => {
    const { user, verb, objectRef, userAgent } = auditEventOf(line);
    const [program] = userAgent.split("/");
    return `${user.username}: may not ${verb} ${[objectRef?.resource, objectRef?.apiGroup].filter(Boolean).join(".")} (${program})`;
  });
  // Lines of logs differ by their times.
  const words = said.flatMap(
    (line) => /(?:User \\?")?system:serviceaccount:.*|\w[^"]*403 Forbidden.*/.exec(line)?.[0].slice(0, 200) ?? [],
  );
  const found = unmeant(asked);
  // The audit policy leaves leases and events out; of the rest it knows more than a log.
  return [...new Set([...found, ...(found.length > 0 ? [] : unmeant(words))])];
}
