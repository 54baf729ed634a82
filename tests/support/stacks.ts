import { loadConfig } from "../../components/config/load.ts";
import { readStackFile } from "../../components/config/stackFile.ts";
import { type ClusterSpec, clusterSpec } from "../../components/model/clusterSpec.ts";

/** The cluster that one of the repository's own stack files describes. */
export function exampleSpec(stack: "aws-dev" | "aws-prod" | "azure-dev" | "azure-prod"): ClusterSpec {
  return clusterSpec(loadConfig(readStackFile(stack)));
}
