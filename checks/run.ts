export * from "../check/run.ts";
