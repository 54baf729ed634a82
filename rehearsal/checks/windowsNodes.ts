import { CheckSkipped, expect, expectEqual } from "../../checks/check.ts";
import type { Wine } from "../programs/wine.ts";
import type { RehearsalCheck } from "./context.ts";

/**
 * What only a real kubelet knows to say of itself: the Windows nodes were made by kubelet.exe. Where the host has no Wine, something else
 * has registered them, and the check is skipped.
 */
export function windowsKubeletCheck(later: Promise<Wine | string>): RehearsalCheck {
  return {
    id: "kubelet.exe",
    title: "kubelet.exe has registered each Windows node, with the system that it found, and asked for its serving certificate",
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
            ({ spec }) => spec.signerName === "kubernetes.io/kubelet-serving" && spec.username === `system:node:${name}`,
          );
          expect(asked.length > 0, `${name} has not asked for a serving certificate`);
          seen += 1;
        }
      }
      note(`${seen} nodes`);
    },
  };
}
