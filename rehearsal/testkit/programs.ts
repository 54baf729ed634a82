export { createProgress, findOnPath, type Progress } from "../host/command.ts";
export { defaultCache, isStrict, obtainOrReason, withLock, withWorkFolder } from "../programs/catalog.ts";
export {
  type Checkers,
  type ConfigRequest,
  checkConfigs,
  kubeadmProblems,
  obtainCheckers,
  syntaxErrors,
  visitNodes,
} from "../programs/checkers.ts";
export { obtainPrograms, type Programs } from "../programs/obtain.ts";
