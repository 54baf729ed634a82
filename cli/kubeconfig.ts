import { existsSync, readFileSync } from "node:fs";
import path from "node:path";
import { KubeConfig } from "@kubernetes/client-node";
import { type ClusterApi, clusterApi } from "../check/cluster/clusterApi.ts";
import { messageOf } from "../components/model/messages.ts";
import { UsageError } from "./exit.ts";

/** The same of a kubeconfig's text, which this program has made itself. */
export function clusterIn(text: string): ClusterApi {
  const config = new KubeConfig();
  config.loadFromString(text);
  return clusterApi(config, config.getCurrentCluster()?.server ?? "");
}

/** Whether a kubeconfig's text is of this cluster alone; one that cannot be read is not. */
export function isOnlyOf(cluster: string, text: string): boolean {
  const config = new KubeConfig();
  try {
    config.loadFromString(text);
  } catch {
    return false;
  }
  const [clusters, contexts] = [config.clusters.map(({ name }) => name), config.contexts.map((each) => each.cluster)];
  return [clusters, contexts].every((names) => names.length === 1 && names[0] === cluster);
}

/** Of a command that asks a cluster. */
export const kubeconfigOption = [
  "--kubeconfig <FILE>",
  "kubeconfig whose current context is used; default: the files of KUBECONFIG, else kubeconfig in this folder",
] as const;

/** @throws UsageError when a file cannot be read or is no kubeconfig with a current context */
export function clusterOf(file: string | undefined): ClusterApi {
  if (file === undefined && !process.env.KUBECONFIG && !existsSync("kubeconfig"))
    throw new UsageError(
      "a running cluster needs --kubeconfig FILE, KUBECONFIG or a file kubeconfig in this folder: pulumi stack output kubeconfig --show-secrets > kubeconfig",
    );
  const listed = (process.env.KUBECONFIG ?? "").split(path.delimiter).filter((each) => each !== "");
  const [named, files] =
    file !== undefined
      ? [`--kubeconfig ${file}`, [file]]
      : listed.length > 0
        ? // As kubectl, which leaves out those that are not there.
          [`KUBECONFIG=${process.env.KUBECONFIG}`, listed.some(existsSync) ? listed.filter(existsSync) : listed]
        : ["kubeconfig", ["kubeconfig"]];
  const wrong = (why: string) =>
    new UsageError(
      `${named} ${why}; allowed: a kubeconfig with current-context, for example from \`pulumi stack output kubeconfig --show-secrets\``,
    );
  const config = new KubeConfig();
  try {
    for (const each of files) addTo(config, each);
  } catch (error) {
    throw wrong(`cannot be read: ${messageOf(error)}`);
  }
  const server = config.getCurrentCluster()?.server;
  if (server === undefined) throw wrong("names no cluster");
  return clusterApi(config, server);
}

/** What an earlier file has of the same name counts. */
function addTo(config: KubeConfig, file: string) {
  readFileSync(file);
  const more = new KubeConfig();
  more.loadFromFile(file);
  const isNew =
    (known: readonly { readonly name: string }[]) =>
    ({ name }: { readonly name: string }) =>
      !known.some((each) => each.name === name);
  config.loadFromOptions({
    clusters: [...config.clusters, ...more.clusters.filter(isNew(config.clusters))],
    users: [...config.users, ...more.users.filter(isNew(config.users))],
    contexts: [...config.contexts, ...more.contexts.filter(isNew(config.contexts))],
    currentContext: config.currentContext || more.currentContext,
  });
}
