export { applyLayer, type KubernetesObject } from "../api/apply.ts";
export { rightOf, unusedRights } from "../checks/addOnRights.ts";
export { everyAddOn } from "../run/everyAddOn.ts";
