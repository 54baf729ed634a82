export type { Stage } from "../../model/machineParts.ts";
