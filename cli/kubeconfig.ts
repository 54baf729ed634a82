import { readFileSync } from "node:fs";
import { KubeConfig } from "@kubernetes/client-node";
import { type ClusterApi, clusterApi } from "../check/cluster/clusterApi.ts";
import { messageOf } from "../components/gates/messageOf.ts";
import { UsageError } from "./exit.ts";

/** @throws UsageError when the file cannot be read or is no kubeconfig with a current context */
export function clusterOf(file: string): ClusterApi {
  const config = new KubeConfig();
  const wrong = (why: string) =>
    new UsageError(
      `--kubeconfig ${file} ${why}; allowed: a kubeconfig with current-context, for example from \`pulumi stack output kubeconfig --show-secrets\``,
    );
  try {
    readFileSync(file);
    config.loadFromFile(file);
  } catch (error) {
    throw wrong(`cannot be read: ${messageOf(error)}`);
  }
  const server = config.getCurrentCluster()?.server;
  if (server === undefined) throw wrong("names no cluster");
  return clusterApi(config, server);
}
