export { applyLayer, type KubernetesObject } from "../api/apply.ts";
export { everyAddOn, withEveryAddOn } from "../run/everyAddOn.ts";
