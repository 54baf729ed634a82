export { applyLayer, type KubernetesObject } from "../api/apply.ts";
export { rightOf, unusedRights } from "../checks/addOnRights.ts";
export { everyAddOn, withEveryAddOn } from "../run/everyAddOn.ts";
