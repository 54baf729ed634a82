import type { AddOnEntry } from "../addOnEntry.ts";
import { smb } from "./smb.ts";
import { storage } from "./storage.ts";

/**
 * Stands between the drivers and whatever has claims, since drivers that went at once would leave disks in the cloud.
 * The node controller takes the finalizer away once the volumes of all deleted claims are gone, each for five minutes
 * at most (components/nodeController/program/volumes.py).
 */
export const volumes: AddOnEntry = {
  name: "volumes",
  after: [storage, smb],
  settings: ["storage", "smb"],
  cleansUp: true,
  manifests: () => [
    {
      apiVersion: "v1",
      kind: "ConfigMap",
      metadata: { name: "fenestra-volumes", namespace: "kube-system", finalizers: ["fenestra.dev/volumes"] },
    },
  ],
};
