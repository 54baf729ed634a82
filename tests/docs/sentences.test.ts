import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import path from "node:path";
import { configJsonSchema } from "../../components/config/jsonSchema.ts";
import { removedSettings } from "../../components/config/load.ts";
import { leavesOf } from "../support/leaves.ts";
import { documents, root } from "./documents.ts";

const leaves = leavesOf(configJsonSchema()).map(([name]) => name);

/** Names of settings at every level: `pools`, `kubelet`, `maxPods`. */
const names = new Set(leaves.flatMap((leaf) => leaf.split(/[.[\]*]+/)));

/** Names of others: Kubernetes (claims, Services), Entra ID (applications), a function of cloud-provider-aws. */
const foreign = ["dataSource", "isNLB", "requestedAccessTokenVersion", "trafficDistribution"];

describe("sentences of the documentation", () => {
  it("name no setting that has gone", () => {
    const gone = Object.keys(removedSettings)
      .map((setting) => setting.split(".").at(-1) ?? "")
      .filter((name) => !names.has(name));
    assert.ok(gone.includes("spotMaxPrice"), gone.join(" "));
    const stale = documents()
      .filter(({ file }) => !/^CHANGES|^docs\/adr/.test(file))
      .flatMap(({ file, prose }) =>
        gone.filter((name) => prose.includes(`\`${name}\``)).map((name) => `${file}: ${name}`),
      );
    assert.deepEqual(stale, []);
  });

  it("name nothing in camel case that neither the schema nor a file of the project has", () => {
    const files = execFileSync("git", ["ls-files", "--", ":!*.md", ":!package-lock.json"], {
      cwd: root,
      encoding: "utf8",
    });
    const known = new Set(
      files
        .trim()
        .split("\n")
        .flatMap((file) => readFileSync(path.join(root, file), "utf8").match(/[A-Za-z]\w*/g) ?? []),
    );
    const words = documents()
      .filter(({ file }) => !/^CHANGES|^docs\/adr/.test(file))
      .flatMap(({ file, prose }) =>
        [...prose.matchAll(/`([a-z]+[A-Z]\w*)`/g)].map(([, word = ""]) => ({ file, word })),
      );
    assert.ok(words.length > 50, String(words.length));
    assert.deepEqual(
      words
        .filter(({ word }) => !known.has(word) && !foreign.includes(word))
        .map(({ file, word }) => `${file}: ${word}`),
      [],
    );
  });
});
