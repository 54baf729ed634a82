import { readFileSync } from "node:fs";
import { nightTitles } from "./tiers.ts";

// Prints titles for the matrix of night.yml: of `all` steps, or of those for the `changed` files that standard input
// lists.
console.log(JSON.stringify(nightTitles(process.argv[2] === "all" ? undefined : readFileSync(0, "utf8").split("\n"))));
