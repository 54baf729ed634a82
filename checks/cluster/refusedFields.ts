import type { V1PodSpec } from "@kubernetes/client-node";
import { messageOf } from "../../components/gates/messageOf.ts";
import { type Check, expect } from "../check.ts";
import { type ApiTools, statusOf } from "./api.ts";
import { checkPod, waitingContainer } from "./pods.ts";

type SecurityContext = NonNullable<V1PodSpec["containers"][number]["securityContext"]>;
const inPod = (securityContext: V1PodSpec["securityContext"]): Partial<V1PodSpec> =>
  securityContext === undefined ? {} : { securityContext };
const inContainer = (securityContext: SecurityContext): Partial<V1PodSpec> => ({
  containers: [{ ...waitingContainer("registry.example.test/app:1.0"), securityContext }],
});

/** What the API server refuses on a Windows pod (kubernetes.io: "Windows containers in Kubernetes", field compatibility). */
const refusedFields: readonly (readonly [field: string, spec: Partial<V1PodSpec>])[] = [
  ["spec.hostPID", { hostPID: true }],
  ["spec.hostIPC", { hostIPC: true }],
  ["spec.shareProcessNamespace", { shareProcessNamespace: true }],
  ["spec.securityContext.seLinuxOptions", inPod({ seLinuxOptions: { level: "s0" } })],
  ["spec.securityContext.seccompProfile", inPod({ seccompProfile: { type: "RuntimeDefault" } })],
  ["spec.securityContext.fsGroup", inPod({ fsGroup: 1000 })],
  ["spec.securityContext.fsGroupChangePolicy", inPod({ fsGroupChangePolicy: "Always" })],
  ["spec.securityContext.sysctls", inPod({ sysctls: [{ name: "kernel.shm_rmid_forced", value: "0" }] })],
  ["spec.securityContext.runAsUser", inPod({ runAsUser: 1000 })],
  ["spec.securityContext.runAsGroup", inPod({ runAsGroup: 1000 })],
  ["spec.securityContext.supplementalGroups", inPod({ supplementalGroups: [1000] })],
  ["spec.containers[0].securityContext.seLinuxOptions", inContainer({ seLinuxOptions: { level: "s0" } })],
  ["spec.containers[0].securityContext.seccompProfile", inContainer({ seccompProfile: { type: "RuntimeDefault" } })],
  ["spec.containers[0].securityContext.runAsUser", inContainer({ runAsUser: 1000 })],
  ["spec.containers[0].securityContext.runAsGroup", inContainer({ runAsGroup: 1000 })],
  ["spec.containers[0].securityContext.capabilities", inContainer({ capabilities: { drop: ["ALL"] } })],
  ["spec.containers[0].securityContext.readOnlyRootFilesystem", inContainer({ readOnlyRootFilesystem: true })],
  ["spec.containers[0].securityContext.privileged", inContainer({ privileged: true })],
  ["spec.containers[0].securityContext.allowPrivilegeEscalation", inContainer({ allowPrivilegeEscalation: false })],
  ["spec.containers[0].securityContext.procMount", inContainer({ procMount: "Default" })],
];

/** Fields that Windows cannot honour are refused by name; nothing is made, each is asked as a dry run. */
export const refusedFieldsCheck: Check<ApiTools> = {
  id: "refused-fields",
  title: "the API server refuses on a Windows pod what Windows cannot honour, each field by its name",
  run: async ({ api, namespace, waitingImage, note }) => {
    const asked = async (spec: Partial<V1PodSpec>): Promise<string | undefined> => {
      const containers = [waitingContainer(waitingImage)];
      const body = checkPod("refused", { os: { name: "windows" }, containers, ...spec });
      return await api.core.createNamespacedPod({ namespace, body, dryRun: "All" }).then(
        () => undefined,
        (error: unknown) => {
          if (statusOf(error) !== 422) throw error;
          return messageOf(error);
        },
      );
    };
    // Without any of the fields it must be taken, or the refusals would have another cause.
    const plain = await asked({});
    expect(plain === undefined, `a Windows pod without any of these fields was refused: ${plain}`);
    for (const [field, spec] of refusedFields) {
      const refusal = await asked(spec);
      expect(refusal !== undefined, `a Windows pod with ${field} was accepted`, "kubectl version (spec.os is stable since 1.25)");
      expect(refusal.includes(`${field}: Forbidden: cannot be set for a windows pod`), `the refusal of ${field} reads: ${refusal}`);
    }
    note(`${refusedFields.length} fields`);
  },
};
