export * from "../check/check.ts";
