import { readdirSync } from "node:fs";
import type { Cloud } from "../../config/schema.ts";
import { cloudFacts } from "../../model/cloudFacts/cloudFacts.ts";
import type { PayloadFile } from "../payload.ts";
import { readScript } from "../script.ts";
import { script } from "./rootfs.ts";

/** Unit, in `rootfs`, of the program that gives machines certificates and looks after nodes. */
export const nodeControllerUnit = "fenestra-node-controller.service";

const programFolder = new URL("../../nodeController/program/", import.meta.url);

/** Its modules but those of other clouds, and what issues its certificate; on AWS fetched like scripts. */
export function nodeControllerScripts(cloud: Cloud): readonly PayloadFile[] {
  const foreign = Object.keys(cloudFacts).flatMap((other) => (other === cloud ? [] : `${other}.py`));
  const modules = readdirSync(programFolder).filter((name) => name.endsWith(".py") && !foreign.includes(name));
  return [
    script("node-controller-identity.sh"),
    ...modules
      .sort()
      .map((name) => ({
        path: `/opt/fenestra/node-controller/${name}`,
        content: readScript(new URL(name, programFolder)),
        mode: "0755",
      })),
  ];
}
