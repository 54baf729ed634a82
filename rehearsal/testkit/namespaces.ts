export { applyObject, objectOf } from "../api/apply.ts";
export { insideNamespaces, runInsideNamespaces, thisCommand } from "../host/namespaces.ts";
export { obtainContainerPrograms } from "../programs/build.ts";
export { makeWorld } from "../run/runRehearsal.ts";
