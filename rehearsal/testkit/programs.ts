export { createProgress, findOnPath, type Progress } from "../host/command.ts";
export { defaultCache, isStrict, obtainOrReason, withLock, withWorkFolder } from "../programs/catalog.ts";
export { type Checkers, obtainCheckers } from "../programs/checkers.ts";
export { obtainPrograms, type Programs } from "../programs/obtain.ts";
