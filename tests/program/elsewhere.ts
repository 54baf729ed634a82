// Loaded before the program: another day, and a Node whose zlib gives no bytes at all.
import { syncBuiltinESMExports } from "node:module";
import zlib from "node:zlib";

const later = 400 * 24 * 3_600_000;
globalThis.Date = new Proxy(Date, {
  construct: (real, given) => Reflect.construct(real, given.length === 0 ? [real.now() + later] : given),
  get: (real, name) => (name === "now" ? () => real.now() + later : Reflect.get(real, name)),
});

const refuse = () => {
  throw new Error("Node's zlib packs other bytes elsewhere");
};
Object.assign(zlib, { gzipSync: refuse, deflateSync: refuse, deflateRawSync: refuse, brotliCompressSync: refuse });
syncBuiltinESMExports();
