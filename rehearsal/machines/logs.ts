/** A message of the kubelet's structured log, with its quoted error. */
const withError = (message: string): RegExp => new RegExp(String.raw`"${message}" err="((?:[^"\\]|\\.)*)"`);

/**
 * A kubelet's steps to a Node, by the messages of 1.36, and its errors there that do not pass by themselves: its end by
 * a flag or a configuration that it does not take (component-base: cli/run.go), a first certificate that it does not
 * get (client-go: util/certificate/certificate_manager.go), and the registration (kubernetes:
 * pkg/kubelet/kubelet_node_status.go), which it also tries without a certificate, and so unauthorized.
 */
const milestones: readonly { readonly pattern: RegExp; readonly lasting: RegExp }[] = [
  { pattern: withError("command failed"), lasting: /./ },
  {
    pattern: withError("Failed while requesting a signed certificate from the control plane"),
    lasting: /forbidden|Unauthorized|x509/,
  },
  // This error of a serving certificate passes by itself: the cloud controller may not have named the machine yet.
  {
    pattern: new RegExp(
      `${withError("Certificate request was not signed").source} logger="kubernetes\\.io/kube-apiserver-client-kubelet`,
    ),
    lasting: /is denied/,
  },
  { pattern: withError('Unable to register node with API server[^"]*'), lasting: /is invalid|is forbidden|x509/ },
  { pattern: /"Successfully registered node"/, lasting: /./ },
];

/** Why a kubelet has no Node, by the last milestone in its log, if anything is wrong. Pure. */
export function refusal(kubeletLog: string): string | undefined {
  let last = "";
  for (const line of inOneLine(kubeletLog))
    for (const { pattern, lasting } of milestones) {
      const found = pattern.exec(line);
      if (found === null) continue;
      const error = found[1] ?? "";
      // Denied its certificate, it goes on to ask for its Node.
      if (error !== "Unauthorized" || !last.includes("is denied")) last = lasting.test(error) ? error : "";
    }
  return last === "" ? undefined : last.replaceAll('\\"', '"').trim();
}

/**
 * The lines of a log, with errors of several lines, which stand in blocks (klog: internal/serialize/keyvalues.go),
 * quoted like others.
 */
function inOneLine(log: string): readonly string[] {
  return log
    .replaceAll(
      /err=<\n((?:\t.*\n)+) >/g,
      (_, block: string) => `err=${JSON.stringify(block.trim().replaceAll("\n\t", " "))}`,
    )
    .split("\n");
}

/** Seconds: a stage that failed sooner was not waiting for anything. */
const atOnceSeconds = 60;
/** So many failures in a row are no coincidence. */
const failuresInARow = 3;

/**
 * The stage of a Linux machine's bootstrap, if there is one, that fails again and again without waiting, with its first
 * complaint and last words. Pure.
 * @param log of components/machine/linux/scripts/bootstrap.sh and its stages
 */
export function stuckStage(log: string): string | undefined {
  const lines = log.split("\n");
  const ends = lines.flatMap((line, index) => {
    const [, stage, outcome, seconds] = / bootstrap (\S+): (done|failed) after (\d+) s/.exec(line) ?? [];
    return stage === undefined
      ? []
      : [{ stage, atOnce: outcome === "failed" && Number(seconds) < atOnceSeconds, index }];
  });
  const failed = ends.findLast(({ atOnce }) => atOnce);
  const last = ends.filter(({ stage }) => stage === failed?.stage).slice(-failuresInARow);
  if (failed === undefined || last.length < failuresInARow || !last.every(({ atOnce }) => atOnce)) return undefined;
  const begin = lines.findLastIndex((line, index) => index < failed.index && / bootstrap \S+: /.test(line));
  const words = lines.slice(begin + 1, failed.index).map((line) => line.trim());
  const told = new Set([words.find((line) => /^curl: \(|error:/i.test(line)), words.at(-1)]);
  return `stage ${failed.stage} fails each time: ${[...told].filter((line) => line !== undefined).join("; at last: ")}`;
}

/**
 * What programs of the control plane say when they end by a flag or a file that they do not take: those of Kubernetes
 * (spf13/cobra: command.go; component-base: cli/run.go) and etcd (Go's flag package; etcdmain/etcd.go).
 */
const lastWords = [
  /^(Error: .*)$/,
  withError("command failed"),
  /^(flag provided but not defined: .*|invalid value .* for flag .*)$/,
  /"level":"fatal".*"error":"((?:[^"\\]|\\.)*)"/,
];

/** Why a program has ended, by its container's log in the kubelet's format, if it has, or says so. Pure. */
export function endOf(containerLog: string): string | undefined {
  const lines = containerLog.split("\n").map((line) => line.replace(/^\S+ std(?:out|err) [FP] /, ""));
  return lines
    .flatMap((line) => lastWords.flatMap((words) => words.exec(line)?.[1] ?? []))
    .at(-1)
    ?.replaceAll('\\"', '"');
}
