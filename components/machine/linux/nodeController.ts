import { readdirSync } from "node:fs";
import type { PayloadFile } from "../payload.ts";
import { readScript } from "../script.ts";
import { script } from "./files.ts";

/** Unit of the program that gives machines their certificates and looks after nodes, on every control-plane machine; a file of `rootfs`. */
export const nodeControllerUnit = "fenestra-node-controller.service";

const source = new URL("../../nodeController/program/", import.meta.url);

/** Its modules, and what issues its certificate. All of it is fetched on AWS, as scripts are. */
export function nodeControllerScripts(): readonly PayloadFile[] {
  const modules = readdirSync(source).filter((name) => name.endsWith(".py"));
  return [
    script("node-controller-identity.sh"),
    ...modules
      .sort()
      .map((name) => ({ path: `/opt/fenestra/node-controller/${name}`, content: readScript(new URL(name, source)), mode: "0755" })),
  ];
}
