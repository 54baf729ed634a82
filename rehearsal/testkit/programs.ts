export { createProgress, findOnPath, type Progress } from "../host/command.ts";
export { defaultCache, isStrict, obtainOrReason, withLock, withWorkFolder } from "../programs/cache.ts";
export { type Checkers, obtainCheckers } from "../programs/checkers.ts";
export { obtainPrograms, type Programs } from "../programs/obtain.ts";
