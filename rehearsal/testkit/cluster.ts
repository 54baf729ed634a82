export { applyLayer, type KubernetesObject } from "../api/apply.ts";
export { everyAddOn } from "../run/everyAddOn.ts";
