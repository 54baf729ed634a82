import type { PayloadFile } from "../payload.ts";
import { secretPatterns } from "../script.ts";
import { script } from "./rootfs.ts";

/** What an operator runs to collect logs. Limits of the journal are in `stages/os.sh`. */
export const logScript = (): PayloadFile => script("collect-logs.sh");

/** What is cut out of logs that leave the machine. */
export const logPatterns: PayloadFile = { path: "/opt/fenestra/secret-patterns.txt", content: secretPatterns };
