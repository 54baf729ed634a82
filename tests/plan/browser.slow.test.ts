import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import path from "node:path";
import { setTimeout } from "node:timers/promises";
import { pathToFileURL } from "node:url";
import axe from "axe-core";
import { Browser, findChromium } from "../support/browser.ts";
import { fenestra } from "../support/fenestra.ts";
import { skipIf } from "../support/skip.ts";
import { stackDir } from "../support/stacks.ts";
import { suiteFolder } from "../support/temporary.ts";

/**
 * Files of one machine and a part of the resources stand for all, which are thousands of elements: axe-core looks at
 * each.
 */
const thin = `for (const part of document.querySelectorAll("#machines > details:not(:first-of-type), #machines details details:not(:first-of-type), #resources details details details:not(:first-of-type)")) part.remove();
  for (const part of document.querySelectorAll("details")) part.open = true`;

/** Rules that the page breaks, with the first element of each. */
async function violations(view: Browser, part = "html"): Promise<unknown> {
  await view.evaluate(`window.found = undefined; axe.run("${part}").then(({ violations }) => { found = violations; })`);
  for (;;) {
    const found = await view.evaluate("window.found?.map(({ id, nodes }) => id + ' ' + nodes[0].target)");
    if (found !== undefined) return found;
    await setTimeout(100);
  }
}

/** Gives the window a width in pixels. */
async function resize(view: Browser, width: number): Promise<void> {
  await view.send("Emulation.setDeviceMetricsOverride", { width, height: 800, deviceScaleFactor: 1, mobile: false });
}

describe("the page of a plan in a browser", function () {
  this.timeout(180_000);
  const folder = suiteFolder();
  const page = pathToFileURL(path.join(folder, "plan.html")).href;
  let browser: Browser | undefined;

  before(async function () {
    const program = findChromium();
    if (program === undefined)
      return skipIf(this, "Chromium is not on PATH; tests/prepare installs it on Debian and Ubuntu");
    assert.equal((await fenestra("plan", ...stackDir, "--stack", "aws-dev", "--out", folder)).code, 0);
    browser = await Browser.start(program);
  });
  after(() => browser?.stop());

  /** The browser with the page freshly loaded. */
  async function opened(): Promise<Browser> {
    assert.ok(browser);
    browser.errors.length = 0;
    await browser.open(page);
    return browser;
  }

  it("renders everything, without an error in the console and without a request", async () => {
    const view = await opened();
    assert.equal(await view.evaluate("document.title"), "Plan of aws-dev");
    assert.equal(await view.evaluate("document.compatMode"), "CSS1Compat");
    const sections = "[...document.querySelectorAll('section')].map(({ id, offsetHeight }) => [id, offsetHeight > 40])";
    const wanted = ["picture", "pools", "billed", "findings", "machines", "resources"].map((id) => [id, true]);
    assert.deepEqual(await view.evaluate(sections), wanted);
    const drawn = (kind: string) => view.evaluate(`document.querySelectorAll(".picture .${kind}").length`);
    assert.deepEqual(await Promise.all(["control", "linux", "windows"].map(drawn)), [1, 1, 2]);
    assert.equal(await view.evaluate("performance.getEntriesByType('resource').length"), 0);
    assert.deepEqual(view.errors, []);
  });

  for (const width of [320, 400, 800, 1280])
    for (const scheme of ["light", "dark"])
      it(`is no wider than a window of ${width} pixels, folded and unfolded, ${scheme}`, async () => {
        const view = await opened();
        await view.send("Emulation.setEmulatedMedia", { features: [{ name: "prefers-color-scheme", value: scheme }] });
        await resize(view, width);
        assert.equal(await view.evaluate("innerWidth"), width);
        // Against clientWidth: the scrollbar takes some of the window, and the page must fit beside it.
        const overhang = "document.documentElement.scrollWidth - document.documentElement.clientWidth";
        assert.equal(await view.evaluate(overhang), 0);
        await view.evaluate("for (const node of document.querySelectorAll('details')) node.open = true");
        assert.equal(await view.evaluate(overhang), 0);
        await view.send("Emulation.clearDeviceMetricsOverride");
        await view.send("Emulation.setEmulatedMedia", { features: [] });
      });

  it("shows where the keyboard is on everything that it reaches, in a narrow window and both schemes", async () => {
    for (const scheme of ["light", "dark"]) {
      const view = await opened();
      await view.send("Emulation.setEmulatedMedia", { features: [{ name: "prefers-color-scheme", value: scheme }] });
      await resize(view, 400);
      const reached: unknown[] = [];
      for (let stop = 0; stop < 10; stop++) {
        await view.press("Tab", "Tab", 9);
        reached.push(
          await view.evaluate(`(() => {
            const at = document.activeElement, box = at.getBoundingClientRect();
            const seen = box.left >= 0 && box.right <= innerWidth + 1 && box.bottom > 0 && box.top < innerHeight;
            return [at.tagName === "A" ? at.hash : at.closest("section").id + " " + at.tagName, getComputedStyle(at).outlineStyle, seen];
          })()`),
        );
      }
      const stops = [
        ...["#picture", "#pools", "#billed", "#findings", "#machines", "#resources"],
        ...["picture SUMMARY", "picture SUMMARY", "picture SUMMARY", "pools SUMMARY"],
      ];
      const wanted = stops.map((stop) => [stop, "solid", true]);
      assert.deepEqual(reached, wanted);
      await view.send("Emulation.clearDeviceMetricsOverride");
      await view.send("Emulation.setEmulatedMedia", { features: [] });
    }
  });

  it("searches, by keyboard alone", async () => {
    const view = await opened();
    const shown = "document.querySelectorAll('[data-text]:not([hidden])').length";
    const all = await view.evaluate(shown);
    assert.ok(typeof all === "number" && all > 200);
    await view.press("/", "Slash", 191, "/");
    assert.equal(await view.evaluate("document.activeElement.id"), "search");
    assert.equal(await view.evaluate("document.activeElement.value"), "");
    await view.send("Input.insertText", { text: "volume etcd" });
    const found = await view.evaluate(shown);
    assert.ok(typeof found === "number" && found > 0 && found < 20, String(found));
    assert.match(
      String(await view.evaluate("document.getElementById('hits').textContent")),
      /^\d+ of \d+ resources and components$/,
    );
    assert.equal(
      await view.evaluate(
        "[...document.querySelectorAll('[data-text]')].some((node) => !node.hidden && node.dataset.text.includes('volume'))",
      ),
      true,
    );
    await view.press("Escape", "Escape", 27);
    assert.equal(await view.evaluate(shown), all);
    await view.send("Input.insertText", { text: "there is no such thing" });
    assert.equal(await view.evaluate(shown), 0);
    assert.deepEqual(view.errors, []);
  });

  for (const scheme of ["light", "dark"])
    for (const width of [390, 1280])
      it(`has nothing that axe-core finds wrong, ${scheme}, ${width} pixels`, async () => {
        const view = await opened();
        await view.send("Emulation.setEmulatedMedia", { features: [{ name: "prefers-color-scheme", value: scheme }] });
        await resize(view, width);
        const dark = "getComputedStyle(document.body).backgroundColor === 'rgb(15, 20, 27)'";
        assert.equal(await view.evaluate(dark), scheme === "dark");
        await view.evaluate(axe.source);
        await view.evaluate(thin);
        assert.deepEqual(await violations(view), []);
        await view.evaluate("document.querySelector('.subtitle').style.color = '#777'");
        assert.deepEqual(await violations(view, "header"), ["color-contrast .subtitle"]);
        await view.send("Emulation.clearDeviceMetricsOverride");
        await view.send("Emulation.setEmulatedMedia", { features: [] });
      });

  it("would not pass with an error in its script", async () => {
    assert.ok(browser);
    const file = path.join(folder, "wrong.html");
    writeFileSync(file, "<script>console.error('a'); missing();</script>");
    browser.errors.length = 0;
    await browser.open(pathToFileURL(file).href);
    assert.equal(browser.errors.length, 2);
  });
});
