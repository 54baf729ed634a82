import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import path from "node:path";
import { pathToFileURL } from "node:url";
import axe from "axe-core";
import puppeteer, { type Browser, type Page } from "puppeteer-core";
import { fenestra } from "../support/fenestra.ts";
import { skipIf } from "../support/skip.ts";
import { stackDir } from "../support/stacks.ts";
import { suiteFolder } from "../support/temporary.ts";

/** Files of one machine and a part of the resources stand for all: axe-core looks at each of thousands. */
const thin = `for (const part of document.querySelectorAll("#machines > details:not(:first-of-type), #machines details details:not(:first-of-type), #resources details details details:not(:first-of-type)")) part.remove();
  for (const part of document.querySelectorAll("details")) part.open = true`;

const violations = (view: Page, part = "html"): Promise<unknown> =>
  view.evaluate(
    `axe.run("${part}").then(({ violations }) => violations.map(({ id, nodes }) => id + " " + nodes[0].target))`,
  );

describe("the page of a plan in a browser", function () {
  this.timeout(180_000);
  const folder = suiteFolder();
  const page = pathToFileURL(path.join(folder, "plan.html")).href;
  let browser: Browser | undefined;

  before(async function () {
    const names = ["chromium", "chromium-browser", "google-chrome"];
    const [executablePath = ""] = spawnSync("which", names).stdout.toString().split("\n");
    if (executablePath === "")
      return skipIf(this, "Chromium is not on PATH; tests/prepare installs it on Debian and Ubuntu");
    assert.equal((await fenestra("plan", ...stackDir, "--stack", "aws-dev", "--out", folder)).code, 0);
    const args = ["--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"];
    browser = await puppeteer.launch({ executablePath, args, pipe: true });
  });
  after(() => browser?.close());

  /** What the page writes to its console as an error, throws, or is refused. */
  let errors: string[];

  /** A fresh page in a window of this width in pixels. */
  async function opened(width = 1280, scheme = "light", url = page): Promise<Page> {
    assert.ok(browser);
    await Promise.all((await browser.pages()).slice(1).map((old) => old.close()));
    const view = await browser.newPage();
    errors = [];
    view.on("pageerror", (error) => errors.push(String(error)));
    view.on("console", (message) => message.type() === "error" && errors.push(message.text()));
    await view.setViewport({ width, height: 800 });
    await view.emulateMediaFeatures([{ name: "prefers-color-scheme", value: scheme }]);
    await view.goto(url);
    return view;
  }

  it("renders everything, without errors in the console or requests", async () => {
    const view = await opened();
    assert.equal(await view.evaluate("document.title"), "Plan of aws-dev");
    assert.equal(await view.evaluate("document.compatMode"), "CSS1Compat");
    const sections = "[...document.querySelectorAll('section')].map(({ id, offsetHeight }) => [id, offsetHeight > 40])";
    const wanted = ["picture", "pools", "billed", "findings", "machines", "resources"].map((id) => [id, true]);
    assert.deepEqual(await view.evaluate(sections), wanted);
    const drawn = (kind: string) => view.evaluate(`document.querySelectorAll(".picture .${kind}").length`);
    assert.deepEqual(await Promise.all(["control", "linux", "windows"].map(drawn)), [1, 1, 2]);
    assert.equal(await view.evaluate("performance.getEntriesByType('resource').length"), 0);
    assert.deepEqual(errors, []);
  });

  for (const width of [320, 400, 800, 1280])
    for (const scheme of ["light", "dark"])
      it(`is no wider than ${width} pixels, folded and unfolded, ${scheme}`, async () => {
        const view = await opened(width, scheme);
        assert.equal(await view.evaluate("innerWidth"), width);
        // Against clientWidth: the page must fit beside the scrollbar.
        const overhang = "document.documentElement.scrollWidth - document.documentElement.clientWidth";
        assert.equal(await view.evaluate(overhang), 0);
        await view.evaluate("for (const node of document.querySelectorAll('details')) node.open = true");
        assert.equal(await view.evaluate(overhang), 0);
      });

  it("shows where the keyboard is, in a narrow window and both schemes", async () => {
    for (const scheme of ["light", "dark"]) {
      const view = await opened(400, scheme);
      const reached: unknown[] = [];
      for (let stop = 0; stop < 10; stop++) {
        await view.keyboard.press("Tab");
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
    }
  });

  it("searches, by keyboard alone", async () => {
    const view = await opened();
    const shown = "document.querySelectorAll('[data-text]:not([hidden])').length";
    const all = await view.evaluate(shown);
    assert.ok(typeof all === "number" && all > 200);
    await view.keyboard.press("/");
    assert.equal(await view.evaluate("document.activeElement.id"), "search");
    assert.equal(await view.evaluate("document.activeElement.value"), "");
    await view.keyboard.sendCharacter("volume etcd");
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
    await view.keyboard.press("Escape");
    assert.equal(await view.evaluate(shown), all);
    await view.keyboard.sendCharacter("there is no such thing");
    assert.equal(await view.evaluate(shown), 0);
    assert.deepEqual(errors, []);
  });

  for (const scheme of ["light", "dark"])
    for (const width of [390, 1280])
      it(`has nothing that axe-core finds wrong, ${scheme}, ${width} pixels`, async () => {
        const view = await opened(width, scheme);
        const dark = "getComputedStyle(document.body).backgroundColor === 'rgb(15, 20, 27)'";
        assert.equal(await view.evaluate(dark), scheme === "dark");
        await view.evaluate(axe.source);
        await view.evaluate(thin);
        assert.deepEqual(await violations(view), []);
        await view.evaluate("document.querySelector('.subtitle').style.color = '#777'");
        assert.deepEqual(await violations(view, "header"), ["color-contrast .subtitle"]);
      });

  it("would not pass with an error in its script", async () => {
    const file = path.join(folder, "wrong.html");
    writeFileSync(file, "<script>console.error('a'); missing();</script>");
    await opened(1280, "light", pathToFileURL(file).href);
    assert.equal(errors.length, 2);
  });
});
