// Prints what the program would register for a stack, by type and name, as digests of inputs and options.
import { createHash } from "node:crypto";
import path from "node:path";
import { placeOf, simulatedCloud } from "../../plan/fakes/cloud.ts";
import { runProgram } from "../../plan/program/runProgram.ts";
import { stackConfig } from "../support/stacks.ts";

const stack = process.argv[2] ?? "";
const config = stackConfig(stack);
const { resources } = await runProgram({
  entry: path.join(import.meta.dirname, "../../index.ts"),
  stack,
  config,
  mode: "known-outputs",
  simulate: simulatedCloud(placeOf(config), "fake"),
});
const digest = (value: unknown) => createHash("sha256").update(JSON.stringify(value)).digest("hex");
const inputs = resources.map(({ type, name, inputs: given, options }) => [`${type} ${name}`, digest([given, options])]);
console.log(JSON.stringify(Object.fromEntries(inputs)));
