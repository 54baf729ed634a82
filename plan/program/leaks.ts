import { gunzipSync, inflateRawSync } from "node:zlib";
import { plainTexts, reveal, secretsIn } from "../../components/gates/values.ts";
import type { RecordedProgram } from "./recorded.ts";

/** A secret in a place that anyone can read. */
export interface Leak {
  readonly resource: string;
  readonly path: string;
  readonly what: string;
}

const patterns: readonly { readonly what: string; readonly pattern: RegExp }[] = [
  { what: "a private key", pattern: /-----BEGIN (?:[A-Z]+ )?PRIVATE KEY-----/ },
  // Kubernetes documentation, Bootstrap tokens. One has a digit, a domain name such as config.kubernetes has none.
  {
    what: "a bootstrap token",
    pattern: /(?<![a-z0-9.-])(?=[a-z0-9.]*\d)[a-z0-9]{6}\.[a-z0-9]{16}(?![a-z0-9-]|\.[a-z0-9])/,
  },
  { what: "an AWS access key", pattern: /\bA(?:KIA|SIA)[A-Z0-9]{16}\b/ },
  { what: "a signed token", pattern: /\beyJ[A-Za-z0-9_-]{10,}\.eyJ[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]{20,}/ },
];

/** A text without what looks like a secret by its form, whole private keys included. */
export function hideSecrets(text: string): string {
  const whole = text.replaceAll(
    /-----BEGIN (?:[A-Z]+ )?PRIVATE KEY-----[\s\S]*?(?:-----END [A-Z ]*-----|$)/g,
    "[a private key]",
  );
  return patterns.reduce((left, { what, pattern }) => left.replaceAll(new RegExp(pattern, "g"), `[${what}]`), whole);
}

/** Shorter ones are anywhere by chance; `none` and `true` are secrets of some resources. */
const shortestSecret = 12;

/** Secrets in plain inputs, however packed: by their form, or as values that are secret elsewhere. */
export function secretsInUserData(program: RecordedProgram): readonly Leak[] {
  const values = knownSecrets(program);
  return program.resources.flatMap(({ name, inputs }) =>
    plainTexts(inputs).flatMap(({ path, text }) =>
      [...new Set(unpacked(text).flatMap((layer) => findings(layer, values)))].map((what) => ({
        resource: name,
        path,
        what,
      })),
    ),
  );
}

/** Secret values, with the resource that has each. Certificates are public. */
function knownSecrets(program: RecordedProgram): ReadonlyMap<string, string> {
  const secrets = new Map<string, string>();
  for (const { name, type, inputs, outputs } of program.resources) {
    // One secret setting makes the stack's output of all of them secret.
    const told = type === "pulumi:pulumi:Stack" ? { ...outputs, config: null } : outputs;
    for (const secret of [...secretsIn(inputs), ...secretsIn(told)]) {
      for (const { text } of plainTexts(reveal(secret))) {
        const value = text.trim();
        const isPublic = /^-----BEGIN (CERTIFICATE|PUBLIC KEY)-----/.test(value) && !value.includes("PRIVATE KEY");
        if (value.length >= shortestSecret && !isPublic && !secrets.has(value)) secrets.set(value, name);
      }
    }
  }
  return secrets;
}

function findings(text: string, secrets: ReadonlyMap<string, string>): readonly string[] {
  return [
    ...patterns.filter(({ pattern }) => pattern.test(text)).map(({ what }) => what),
    ...[...secrets].filter(([value]) => text.includes(value)).map(([, owner]) => `the secret of ${owner}`),
  ];
}

/** Three layers are enough for gzip of a cloud-config with packed files. */
function unpacked(text: string, depth = 0): readonly string[] {
  if (depth > 3) return [text];
  const runs = text.match(/[A-Za-z0-9+/]{64,}={0,2}/g) ?? [];
  return [text, ...runs.flatMap((run) => unpackRun(run)).flatMap((inner) => unpacked(inner, depth + 1))];
}

function unpackRun(run: string): readonly string[] {
  const bytes = Buffer.from(run, "base64");
  const attempt = (unpack: (packed: Buffer) => Buffer): readonly string[] => {
    try {
      return [unpack(bytes).toString("utf8")];
    } catch {
      return [];
    }
  };
  const layers = [...attempt(gunzipSync), ...attempt(inflateRawSync)];
  return layers.length > 0 ? layers : [bytes.toString("utf8")];
}
