import { registerHooks } from "node:module";

/**
 * What a test file or suite throws while loading fails as its own test, where mocha would run nothing at all. So an
 * artifact missing in the lock file fails the tests that need it, and names `fenestra pin`.
 */
const mark = "?each";

const loading = (url: string) => `
const { describe } = globalThis;
const failed = (error) => it("is loaded", () => { throw error; });
const guarded = (make) => (title, body) =>
  make(title, function () { try { body.call(this); } catch (error) { failed(error); } });
globalThis.describe = Object.assign(guarded(describe), { only: guarded(describe.only), skip: describe.skip });
try { await import("${url}"); }
catch (error) { describe("${url}", () => failed(error)); }
finally { globalThis.describe = describe; }
`;

registerHooks({
  resolve: (specifier, context, next) => {
    const found = next(specifier, context);
    if (!context.parentURL?.includes("/node_modules/mocha/") || !found.url.endsWith(".test.ts")) return found;
    // Mocha imports what it cannot require.
    if (context.conditions.includes("require")) throw new Error("has to be imported");
    return { ...found, url: found.url + mark };
  },
  load: (url, context, next) =>
    url.endsWith(mark)
      ? { format: "module", shortCircuit: true, source: loading(url.slice(0, -mark.length)) }
      : next(url, context),
});
