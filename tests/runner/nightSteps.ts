import { readFileSync } from "node:fs";
import { nightTitles } from "./tiers.ts";

// Titles for the matrix of night.yml: `all`, or those of the changed files that standard input lists.
console.log(JSON.stringify(nightTitles(process.argv[2] === "all" ? undefined : readFileSync(0, "utf8").split("\n"))));
