/** What the API server says to a Node that it does not take, in the log of a kubelet. Pure. */
export function refusal(kubeletLog: string): string | undefined {
  const last = kubeletLog
    .split("\n")
    .findLast((line) => /"(Unable|Attempting|Successfully) .*register(ed)? node/.test(line));
  const reason = /"Unable to register node with API server" err="((?:[^"\\]|\\.)*)"/.exec(last ?? "")?.[1];
  return reason !== undefined && /is invalid|is forbidden/.test(reason) ? reason.replaceAll('\\"', '"') : undefined;
}
