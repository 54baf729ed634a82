import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { pathToFileURL } from "node:url";
import { main } from "../../cli/main.ts";
import { Browser, findChromium } from "../support/browser.ts";
import { stackDir } from "../support/stacks.ts";

describe("the page of a plan in a browser", function () {
  this.timeout(180_000);
  const folder = mkdtempSync(path.join(tmpdir(), "fenestra-page-"));
  const page = pathToFileURL(path.join(folder, "plan.html")).href;
  let browser: Browser | undefined;

  before(async function () {
    const program = findChromium();
    if (program === undefined) {
      assert.notEqual(process.env.CI, "true", "Chromium is missing; tests/prepare installs it on Debian and Ubuntu");
      console.log("      skipped: Chromium is not on PATH; tests/prepare installs it on Debian and Ubuntu");
      return this.skip();
    }
    const silent = { out: () => undefined, err: () => undefined };
    assert.equal(await main(["plan", ...stackDir, "--stack", "aws-dev", "--out", folder], silent), 0);
    browser = await Browser.start(program);
  });
  after(async () => {
    await browser?.stop();
    rmSync(folder, { recursive: true });
  });

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
    assert.deepEqual(
      await view.evaluate(sections),
      ["findings", "topology", "pools", "cost", "ready", "machines", "resources"].map((id) => [id, true]),
    );
    assert.equal(await view.evaluate("document.querySelectorAll('svg rect.control').length"), 1);
    assert.equal(await view.evaluate("document.querySelectorAll('svg rect.windows').length"), 4);
    assert.equal(await view.evaluate("performance.getEntriesByType('resource').length"), 0);
    assert.deepEqual(view.errors, []);
  });

  it("has no text wider than its box in the picture", async () => {
    const view = await opened();
    assert.match(
      String(await view.evaluate("document.querySelector('#ready pre').textContent")),
      /\nwin2019: \d+ MB before Ready/,
    );
    const wide = `[...document.querySelectorAll("svg text")].filter((text) => {
      const box = text.getBBox(), all = text.ownerSVGElement.viewBox.baseVal;
      return box.x < 0 || box.x + box.width > all.width;
    }).length`;
    assert.equal(await view.evaluate(wide), 0);
  });

  for (const width of [320, 400, 800, 1280])
    for (const scheme of ["light", "dark"])
      it(`is no wider than a window of ${width} pixels, folded and unfolded, ${scheme}`, async () => {
        const view = await opened();
        await view.send("Emulation.setEmulatedMedia", { features: [{ name: "prefers-color-scheme", value: scheme }] });
        await view.send("Emulation.setDeviceMetricsOverride", {
          width,
          height: 800,
          deviceScaleFactor: 1,
          mobile: false,
        });
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
      await view.send("Emulation.setDeviceMetricsOverride", {
        width: 400,
        height: 800,
        deviceScaleFactor: 1,
        mobile: false,
      });
      const reached: unknown[] = [];
      // The first stop behind the links is the first table that scrolls, or the first machine.
      for (let stop = 0; stop < 13; stop++) {
        await view.press("Tab", "Tab", 9);
        reached.push(
          await view.evaluate(`(() => {
            const at = document.activeElement, box = at.getBoundingClientRect();
            const seen = box.left >= 0 && box.right <= innerWidth + 1 && box.bottom > 0 && box.top < innerHeight;
            return [at.tagName === "A" ? at.hash : at.className || at.tagName, getComputedStyle(at).outlineStyle, seen];
          })()`),
        );
      }
      const links = ["#findings", "#topology", "#pools", "#cost", "#ready", "#machines", "#resources"];
      assert.deepEqual(
        reached.slice(0, 7),
        links.map((hash) => [hash, "solid", true]),
      );
      assert.deepEqual(reached.slice(7), [
        ["scroll", "solid", true],
        ["scroll", "solid", true],
        ["scroll", "solid", true],
        ["scroll", "solid", true],
        ["prose", "solid", true],
        ["SUMMARY", "solid", true],
      ]);
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
    assert.match(String(await view.evaluate("document.getElementById('hits').textContent")), /^\d+ of \d+ resources$/);
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

  it("opens a machine's files by keyboard", async () => {
    const view = await opened();
    await view.evaluate("document.querySelector('#machines summary').focus()");
    assert.equal(await view.evaluate("document.querySelector('#machines details').open"), false);
    await view.press("Enter", "Enter", 13, "\r");
    assert.equal(await view.evaluate("document.querySelector('#machines details').open"), true);
    await view.press("Tab", "Tab", 9);
    assert.equal(await view.evaluate("document.activeElement.tagName"), "SUMMARY");
    await view.press("Enter", "Enter", 13, "\r");
    assert.equal(
      await view.evaluate("document.activeElement.parentElement.querySelector('pre').offsetHeight > 20"),
      true,
    );
  });

  for (const scheme of ["light", "dark"])
    it(`has the contrast that WCAG asks for, ${scheme}`, async () => {
      const view = await opened();
      await view.send("Emulation.setEmulatedMedia", { features: [{ name: "prefers-color-scheme", value: scheme }] });
      const worst = await view.evaluate(`(() => {
        const numbers = (color) => color.match(/[\\d.]+/g).map(Number);
        const light = (color) => {
          const [r, g, b] = numbers(color).map((c) => c / 255).map((c) => c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4);
          return 0.2126 * r + 0.7152 * g + 0.0722 * b;
        };
        const ground = (node) => {
          for (let at = node; at; at = at.parentElement) {
            const color = getComputedStyle(at).backgroundColor;
            if (numbers(color)[3] !== 0) return color;
          }
          return "rgb(255, 255, 255)";
        };
        const nodes = [...document.querySelectorAll("p, a, th, td, summary, code, strong, span, pre, h1, h2")];
        return Math.min(...nodes.map((node) => {
          const [a, b] = [light(getComputedStyle(node).color), light(ground(node))];
          return (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
        }));
      })()`);
      assert.ok(typeof worst === "number" && worst >= 4.5, `the worst contrast is ${worst}`);
      assert.equal(
        await view.evaluate("getComputedStyle(document.body).backgroundColor === 'rgb(255, 255, 255)'"),
        scheme === "light",
      );
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
