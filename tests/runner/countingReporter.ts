import { writeFileSync } from "node:fs";
import Mocha from "mocha";

/** Mocha's `spec` reporter, which leaves counts and failures as JSON in the file that `FENESTRA_COUNTS` names. */
export default class CountingReporter extends Mocha.reporters.Spec {
  constructor(runner: Mocha.Runner, options?: Mocha.MochaOptions) {
    super(runner, options);
    const problems: string[] = [];
    runner.on("fail", (test, error) => problems.push(`${test.titlePath().join(" / ")}\n${error.message}`));
    runner.once("end", () => {
      const file = process.env.FENESTRA_COUNTS;
      const { passes, failures, pending } = this.stats;
      if (file !== undefined)
        writeFileSync(file, JSON.stringify({ passed: passes, failed: failures, skipped: pending, problems }));
    });
  }
}
