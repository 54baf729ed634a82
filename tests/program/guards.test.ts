import assert from "node:assert/strict";
import path from "node:path";
import { reveal, textOf } from "../../components/gates/values.ts";
import { gmsa, logs } from "../kubernetes/switches.ts";
import { runSpec, specOf } from "../support/mocks.ts";
import { matchSnapshot } from "../support/snapshot.ts";
import { guardTable } from "./guardTable.ts";

const azure = "/subscriptions/01234567-89ab-cdef-0123-456789abcdef/resourceGroups/shared/providers";
const pools = [
  { name: "linux", os: "linux" },
  { name: "win2022", os: "windows-2022" },
];
const open = { access: { public: { allow: ["203.0.113.0/24"] }, serviceAccountKeys: ["rsa-1"], workloadIdentity: {} } };

const encrypted = (encryptionKey: string) => ({
  controlPlane: { backup: { keepDays: 90 }, etcdDisk: { encryptionKey } },
  pools: pools.map((pool) => ({ ...pool, disk: { encryptionKey } })),
});

/** Settings that change what guards, by the title of a column: a stack file and its changes. */
const columns = {
  aws: {
    "": { ...open, pools },
    production: { access: {}, pools, environment: "production" },
    closed: {
      ...{ access: { private: { allow: ["192.0.2.0/24"] } }, accountId: "123456789012" },
      network: { zones: ["eu-central-1a"], nat: "none", dns: { servers: ["10.0.9.4"] } },
      mirror: { artifacts: "https://mirror.test", registries: { _default: "https://mirror.test" } },
      iam: { permissionsBoundary: "arn:aws:iam::123456789012:policy/boundary", rolePath: "/kubernetes/" },
      registryAccess: { resources: ["arn:aws:ecr:eu-central-1:123456789012:repository/a"] },
      ...encrypted("arn:aws:kms:eu-central-1:123456789012:key/mrk-1"),
    },
  },
  azure: {
    "": { ...open, pools },
    production: { access: {}, pools, environment: "production" },
    closed: {
      ...{ access: { private: { allow: ["192.0.2.0/24"] } }, accountId: "01234567-89ab-cdef-0123-456789abcdef" },
      ...{ encryptionAtHost: true, network: { zones: ["1"], natAddresses: 2, dns: { servers: ["10.0.9.4"] } } },
      registryAccess: { resources: [`${azure}/Microsoft.ContainerRegistry/registries/teamregistry`] },
      ...encrypted(`${azure}/Microsoft.Compute/diskEncryptionSets/own`),
    },
  },
} as const;

const collector = "fenestra-monitoring_log-collector";
const told = {
  aws: [[collector, "arn"]],
  azure: [
    [`${collector}-identity`, "clientId"],
    ["gmsa-identity", "principalId"],
  ],
} as const;

const head = `# What each resource says of publicness, encryption, TLS, protection from deletion, identity and network reach: with the
# API open to a network; otherwise in (production), where it is not, or (closed): with keys, bounds and networks of an
# organisation. never: what the provider takes and no resource sends. A line that moves is a decision.
`;

describe("what guards a user", function () {
  this.timeout(120_000);

  // A value that moves, a new input without a row and one that a new provider declares are a difference.
  for (const cloud of ["aws", "azure"] as const)
    it(`on ${cloud} is as in its table`, async () => {
      const made = Object.entries(columns[cloud]).map(async ([title, changes]) => {
        const spec = specOf(`${cloud}-dev`, changes);
        const pools = spec.pools.map((pool) => ({ ...pool, ccgPlugin: pool.os === "windows" }));
        const addons = { ...spec.addons, gmsa: gmsa(cloud), ...(title === "" && { logs: logs(cloud) }) };
        return [title, (await runSpec({ ...spec, pools, addons })).program] as const;
      });
      const programs = Object.fromEntries(await Promise.all(made));
      matchSnapshot(path.join(import.meta.dirname, `guards.${cloud}.txt`), head + guardTable(programs));

      // Pods are told the identities that they have.
      const resources = programs[""]?.resources ?? [];
      const inside = JSON.stringify(
        resources.filter(({ type }) => type.startsWith("kubernetes:")).map(({ inputs }) => reveal(inputs)),
      );
      for (const [name, output] of told[cloud]) {
        assert.ok(
          inside.includes(
            textOf(
              resources.find((each) => each.name === `${cloud}-dev-${name}` && each.outputs[output] !== undefined)
                ?.outputs[output],
            ) ?? "?",
          ),
          name,
        );
      }
    });
});
