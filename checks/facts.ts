/** Taint of a node that the cloud controller has not seen yet. The rehearsal's own copy on purpose: it must not learn it from the program. */
export const uninitializedTaintKey = "node.cloudprovider.kubernetes.io/uninitialized";

/** Builds of Windows Server by year, as Microsoft numbers them. */
export const windowsBuilds: Readonly<Record<string, string>> = {
  "2019": "10.0.17763",
  "2022": "10.0.20348",
  "2025": "10.0.26100",
};
