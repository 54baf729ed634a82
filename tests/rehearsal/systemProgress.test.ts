import assert from "node:assert/strict";
import { PassThrough } from "node:stream";
import { RehearsalError } from "../../rehearsal/host/errors.ts";
import { createProgress, type ProgressStream } from "../../rehearsal/host/progress.ts";

describe("progress", () => {
  /** @param colorDepth as of a terminal: NO_COLOR and dumb terminals make it 1 */
  function recorder(isTTY: boolean, colorDepth = 1): ProgressStream & { text(): string } {
    const stream = new PassThrough();
    return Object.assign(stream, { isTTY, getColorDepth: () => colorDepth, text: () => String(stream.read()) });
  }

  it("writes the time since the start before each line, and indents what follows", () => {
    let now = 1_000_000;
    const stream = recorder(false);
    const progress = createProgress({ stream, now: () => now });
    progress.line("decoding");
    now += 12_345;
    progress.line("3 machines\ncp-0\ncp-1");
    now += 1_000_000;
    progress.line("done");
    assert.equal(stream.text(), "[  0.0 s] decoding\n[ 12.3 s] 3 machines\n          cp-0\n          cp-1\n[1012.3 s] done\n");
  });

  it("goes on with another process's clock", () => {
    const stream = recorder(false);
    createProgress({ stream, startedAt: 1_000, now: () => 3_500 }).line("inside");
    assert.equal(stream.text(), "[  2.5 s] inside\n");
  });
});

describe("RehearsalError", () => {
  it("lists the remedies below the problem", () => {
    assert.equal(new RehearsalError("No Go.", ["install it", "or not"]).message, "No Go.\n  - install it\n  - or not");
  });
});
