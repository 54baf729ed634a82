import type { FindingInput } from "../../plan/report/findings.ts";
import { newAuthority } from "../../rehearsal/clouds/server.ts";
import { bareMachine } from "../support/planOf.ts";

export const image = "ami-0a1b2c3d4e5f60718";
export const zones = ["eu-central-1a", "eu-central-1b", "eu-central-1c"];
export const production = { environment: "production" } as const;
const open = { public: { allow: ["100.64.7.0/24"] } };
export const key = (path: string) => `config.fenestra:${path}`;

export const machine = (bytes: number) => bareMachine("m", { userData: { bytes, limit: 1000, sha256: "" } });

const pool = { name: "win", os: "windows-2022", image: "ami-0a1b2c3d4e5f60719" };
const linux = { name: "linux", os: "linux", image };
const ubuntu = "24.04.202610010";
const onAzure = {
  ...{ cloud: "azure", region: "westeurope", accountId: "01234567-89ab-cdef-0123-456789abcdef" },
  network: { zones: ["1", "2", "3"], nat: "perZone" },
  controlPlane: { replicas: 3, image: ubuntu },
  pools: [{ ...linux, image: ubuntu, perZone: true }],
};
const gallery =
  "/subscriptions/00000000-0000-4000-8000-000000000000/resourceGroups/i/providers/Microsoft.Compute/galleries/g/images/i";
const account = (name: string, rights: object) => ({ namespace: "a", name, ...rights });
const serviceAccounts = [
  account("a", { statements: [{ actions: ["s3:GetObject", "s3:List*"], resources: ["*"] }] }),
  account("b", { policies: ["arn:aws:iam::aws:policy/AdministratorAccess"] }),
  account("c", { statements: [{ actions: ["s3:*"], resources: ["arn:aws:s3:::shop/*"] }] }),
];
/** What a stack file, with what else there is, is told: levels, ids and places, and nothing else. */
export const cases: readonly (readonly [
  config: Readonly<Record<string, unknown>>,
  expected: readonly string[],
  more?: Partial<FindingInput>,
])[] = [
  [{ pools: [{ ...linux, count: 48 }] }, ["warning size-tier-too-small kubernetes.sizeTier"]],
  [{ pools: [{ ...linux, count: 47 }] }, []],
  [{ pools: [linux, { ...pool, size: "t3.medium", diskGb: 30 }] }, ["warning windows-machine-small pools[1]"]],
  [
    { access: { ...open, workloadIdentity: { serviceAccounts } } },
    [0, 1].map((index) => `warning identity-too-wide access.workloadIdentity.serviceAccounts[${index}]`),
  ],
  ...[["0.0.0.0/0"], ["44.0.0.0/8", "45.0.0.0/16"]].map(
    (allow) => [{ access: { public: { allow } } }, ["error public-api-open access.public.allow"]] as const,
  ),
  [{ network: { zones, cidr: "8.8.0.0/16" } }, ["warning network-public network.cidr"]],
  [
    { kubernetes: { podCidr: "203.0.0.0/16", serviceCidr: "100.64.0.0/16" } },
    ["warning network-public kubernetes.podCidr"],
  ],
  [{ access: { public: { allow: ["192.168.1.0/24"] } } }, ["warning public-api-private-callers access.public.allow"]],
  [{ ...onAzure, kubernetes: { sizeTier: "medium" } }, ["warning etcd-disk-slow controlPlane.etcdDiskGb"]],
  [
    {
      ...{ ...onAzure, kubernetes: { sizeTier: "medium" } },
      controlPlane: { ...onAzure.controlPlane, etcdDiskGb: 128 },
      pools: [{ ...linux, image: ubuntu, perZone: true, count: 200 }],
    },
    ["warning nat-ports network.natAddresses"],
  ],
  [{ ...onAzure }, []],
  [{ ...production, network: { zones, nat: "single" } }, ["warning single-nat-gateway network.nat"]],
  [
    { ...onAzure, ...production, pools: [{ ...linux, image: ubuntu, count: 3 }] },
    ["warning one-nat-gateway-for-pool pools[0].perZone"],
  ],
  [{ access: { ...open, private: { allow: ["10.244.0.0/15"] } } }, ["warning callers-among-pods access.private.allow"]],
  [{ addons: { samples: true } }, []],
  [{ ...production, controlPlane: { replicas: 1, image } }, ["warning single-control-plane controlPlane.replicas"]],
  [{ controlPlane: { replicas: 1, image } }, ["note single-control-plane controlPlane.replicas"]],
  [
    { ...production, network: { zones: ["eu-central-1a"], nat: "perZone" } },
    ["warning quorum-in-one-zone network.zones"],
  ],
  [{ ...production, controlPlane: { replicas: 5, image }, network: { zones, nat: "perZone" } }, []],
  [{ pools: [pool] }, []],
  [{ pools: [linux, { ...pool, os: "windows-2019" }] }, ["warning windows-past-upstream-support pools[1].os"]],
  [{ ...production, pools: [{ name: "linux", os: "linux" }] }, ["warning image-latest pools[0].image"]],
  [{ pools: [linux, pool], httpProxy: "http://10.9.0.5:3128" }, ["note windows-roots certificateAuthorities"]],
  [{}, ["warning secrets-by-passphrase encryptionsalt"], { passphrase: true }],
  [production, ["error secrets-by-passphrase encryptionsalt"], { passphrase: true }],
  [{ ...production, accountId: undefined }, ["warning no-account-guard accountId"]],
  [{}, ["warning kubernetes-out-of-support kubernetes.version"], { asOf: "2027-10-29" }],
  [{}, [], { asOf: "2027-10-28" }],
  ...(
    [
      [gallery, ["note image-latest pools[0].image"]],
      [`${gallery}/versions/1.0.0`, []],
    ] as const
  ).map(
    ([own, expected]) =>
      [{ ...onAzure, pools: [{ ...linux, image: own, perZone: true }] }, expected, { asOf: "2026-11-30" }] as const,
  ),
  [
    {
      pools: [linux, pool],
      httpProxy: "http://10.9.0.5:3128",
      certificateAuthorities: [newAuthority("own").certificate],
    },
    [],
  ],
  [{ pools: [linux, { ...pool, os: "windows-2025" }] }, ["note windows-overlay-fault pools[1].image"]],
  ...(["26100.6584.250909", "26100.6899.251014"] as const).map(
    (old, index) =>
      [
        { ...onAzure, pools: [...onAzure.pools, { ...pool, os: "windows-2025", image: old, perZone: true }] },
        index === 0 ? ["warning windows-overlay-fault pools[1].image"] : [],
      ] as const,
  ),
  ...[
    ["", 900],
    ["warning", 901],
    ["warning", 1000],
    ["error", 1001],
  ].map(
    ([level, bytes]) =>
      [{}, level === "" ? [] : [`${level} user-data-size m`], { machines: [machine(Number(bytes))] }] as const,
  ),
  ...[
    "TOKEN=abcdef123",
    "msiexec /i a.msi PASSWORD=hunter2",
    "curl -u admin:hunter2 https://x",
    "git clone https://bob:hunter2@git.corp/x",
    "net user bob P@ssw0rd /add",
    "$p = ConvertTo-SecureString 'hunter2' -AsPlainText -Force",
    "echo sk-abcdefghij01",
  ].map(
    (beforeJoin) =>
      [
        { pools: [{ name: "linux", os: "linux", image, beforeJoin }] },
        ["warning script-with-secret pools[0].beforeJoin"],
      ] as const,
  ),
  ...[
    'TOKEN="$(cat /run/t)"',
    "password=$1",
    "net user bob",
    "curl -u $LOGIN https://x",
    "# no passwords: none here",
  ].map((afterJoin) => [{ pools: [{ name: "linux", os: "linux", image, afterJoin }] }, []] as const),
  [
    {},
    ["error secret-in-the-open machine userData"],
    { leaks: [{ resource: "machine", path: "userData", what: "a private key" }] },
  ],
];
