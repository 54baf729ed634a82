export { findOnPath } from "../host/command.ts";
export { createProgress, type Progress } from "../host/progress.ts";
export { defaultCache, isStrict, obtainOrReason, withLock, withWorkFolder } from "../programs/cache.ts";
export { type Checkers, obtainCheckers } from "../programs/checkers/obtain.ts";
export { obtainPrograms, type Programs } from "../programs/obtain.ts";
