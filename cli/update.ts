import { spawnSync } from "node:child_process";
import { globSync, readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import { Command as Declaration } from "@commander-js/extra-typings";
import { commandOf, exitCodes, UsageError } from "./exit.ts";
import { git, npmCi } from "./gitBase.ts";
import { packageProblem, programFolder } from "./packages.ts";
import { findProject } from "./project.ts";
import { isRelease, pinnedIn, withVersion } from "./repository/files.ts";

export const command = commandOf(
  new Declaration()
    .description(
      "For a repository that has Fenestra as a submodule. Checks that release out, or the newest one, installs its packages where they are others, writes its commit into the workflows that are called, stages all of it, and says what it does to each stack: fenestra changes --since HEAD. Nothing is committed, and nothing in a cloud is touched.",
    )
    .argument("[release]", "such as vX.Y.Z"),
  async (_options, { out, note }, wanted) => {
    const { root, own } = findProject();
    if (own)
      throw new UsageError(
        "update is for a repository that has Fenestra as a submodule; allowed in a clone: git pull, then npm ci",
      );
    if (git(programFolder, ["status", "--porcelain", "--untracked-files=no"]) !== "")
      throw new UsageError(
        `something in ${programFolder} was edited; allowed: a submodule without changes. Push them to a fork`,
      );
    git(programFolder, ["fetch", "--quiet", "--tags", "--force", "origin"]);
    const tags = git(programFolder, ["tag", "--list", "v*", "--sort=-version:refname"]).split("\n").filter(isRelease);
    const tag = wanted ?? tags[0];
    if (tag === undefined || !tags.includes(tag))
      throw new UsageError(
        `${wanted ?? "update"}: there is no such release; allowed: ${tags.slice(0, 5).join(", ") || "none yet"}`,
      );
    git(programFolder, ["checkout", "--quiet", "--detach", `refs/tags/${tag}`]);
    const workflows = globSync(".github/workflows/*.{yml,yaml}", { cwd: root });
    const called = workflows.filter((name) => {
      const file = path.join(root, name);
      const text = readFileSync(file, "utf8");
      const now = withVersion(text, pinnedIn(programFolder));
      writeFileSync(file, now);
      return now !== text;
    });
    git(root, ["add", "--", path.relative(root, programFolder), ...workflows]);
    out(
      `${path.relative(root, programFolder)} is at ${tag}${called.length === 0 ? "" : ", and so are the workflows that are called"}.\n`,
    );
    if (packageProblem(programFolder) !== undefined) {
      note("installing the packages of that release\n");
      await npmCi(programFolder);
    }
    // This process has the version before.
    const changes = [path.join(programFolder, "cli/main.ts"), "changes", "--since", "HEAD", "--install"];
    const { status } = spawnSync(process.execPath, changes, { cwd: root, stdio: ["ignore", "inherit", "inherit"] });
    out(`Next: git commit -m "Fenestra ${tag}", and a pull request.\n`);
    return status === exitCodes.fine ? exitCodes.fine : exitCodes.findings;
  },
  { codes: { 1: "what fenestra changes has found" } },
);
