import { createRequire, Module } from "node:module";

/**
 * What only dynamic providers use of the Pulumi SDK: TypeScript's parser and npm's models of the installed packages, which turn a JavaScript
 * function into text (`runtime/closure`). The SDK loads them for every program, which is a fifth of the time of a plan.
 */
const unused = ["typescript", "@npmcli/arborist", "normalize-package-data"] as const;

/** In the place of an unused module. Whoever needs it after all is told why it is not there. */
const standIn: object = new Proxy(
  {},
  {
    get: (_, name) => {
      if (name === "__esModule" || typeof name === "symbol") return undefined;
      throw new Error(
        "a recorded program cannot have dynamic providers: the SDK was loaded without its function serializer",
      );
    },
  },
);

/**
 * What the SDK does for people who debug a program: it watches each of ten thousand promises for one that never settles, and sends its own
 * doings to the log, of which a recorded run keeps nothing. Together they are a third of the time of a run. A program that never settles
 * still shows: Node ends with exit code 13.
 */
const diagnostics = [
  { module: "@pulumi/pulumi/runtime/debuggable.js", name: "debuggablePromise", quiet: <T>(promise: T): T => promise },
  { module: "@pulumi/pulumi/log/index.js", name: "debug", quiet: (): Promise<void> => Promise.resolve() },
] as const;

/**
 * Loads the SDK into this process without its unused parts. To be imported before anything that imports the SDK; where the SDK is loaded
 * already, nothing changes. A program under the official CLI loads the whole SDK as ever.
 *
 * @throws when the SDK has its diagnostics elsewhere than version 3.270.
 */
function loadLeanSdk(): void {
  const require = createRequire(import.meta.url);
  const sdk = require.resolve("@pulumi/pulumi");
  if (sdk in require.cache) return;
  const fromSdk = createRequire(sdk);
  const replaced = unused.map((name) => fromSdk.resolve(name)).filter((path) => !(path in require.cache));
  for (const path of replaced) {
    const module = new Module(path);
    module.exports = standIn;
    module.loaded = true;
    require.cache[path] = module;
  }
  try {
    require(sdk);
  } finally {
    // Others in this process get the real ones.
    for (const path of replaced) delete require.cache[path];
  }
  for (const { module, name, quiet } of diagnostics) {
    const loaded: object = require(module);
    if (typeof Reflect.get(loaded, name) !== "function") throw new Error(`the Pulumi SDK has no ${name} in ${module}`);
    Reflect.set(loaded, name, quiet);
  }
}

loadLeanSdk();
