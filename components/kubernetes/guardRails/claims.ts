import { type Policy, podsWhen, templates } from "./policy.ts";
import { text } from "./texts.ts";

/** StorageClasses that the documentation of AKS, EKS and GKE names, for which claims wait here. */
export const foreignClasses: Policy = (() => {
  const foreign =
    "^(default|managed|(managed|azurefile)(-csi)?(-premium)?(-v2)?|azurefile|azureblob-.*|gp[23](-csi)?|(auto-)?ebs-sc|efs-sc|standard(-rwo)?|premium-rwo)$";
  const named = `(object.kind == "StatefulSet" ? dyn(object).spec.?volumeClaimTemplates.orValue([]).map(t, t.spec) : [dyn(object).spec]).map(c, c.?storageClassName.orValue("")).filter(s, s.matches(${text(foreign)}))`;
  return {
    name: "fenestra-claims",
    resourceRules: [
      { ...podsWhen("CREATE"), resources: ["persistentvolumeclaims"] },
      { ...templates("apps", "statefulsets"), operations: ["CREATE"] },
    ],
    conditions: { foreign: `${named}.size() > 0` },
    variables: { named },
    validations: [
      {
        expression: "false",
        message: "this StorageClass is one of another house",
        messageExpression: `object.kind + " " + object.metadata.name + ": there is no StorageClass " + variables.named.join(", ") + " here unless somebody has made it, so claims of it stay Pending: leave storageClassName out for a disk of a Linux pod, or set it to windows for one of a Windows pod; shares of many pods come with addons.smb"`,
      },
    ],
    bindings: [{ suffix: "warn", actions: ["Warn", "Audit"] }],
  };
})();
