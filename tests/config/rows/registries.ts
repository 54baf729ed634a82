import type { Row } from "./row.ts";

const arn = "arn:aws:ecr:eu-central-1:123456789012:repository/team/*";
const id =
  "/subscriptions/00000000-0000-4000-8000-000000000000/resourceGroups/shared/providers/Microsoft.ContainerRegistry/registries/example";

/** Mistakes in pulls from the cloud's own registries. */
export const registryRows: readonly Row[] = [
  [
    "an authority that is none, and exceptions from no proxy",
    "azure",
    {
      certificateAuthorities: ["-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----"],
      noProxy: ["mirror.corp.example"],
    },
    [
      [
        "certificateAuthorities[0]",
        "58 characters",
        "cannot be read as a certificate",
        "one certificate of an authority in PEM, each once; a chain is several entries",
      ],
      ["noProxy", ["mirror.corp.example"], "needs a proxy to make exceptions from", "nothing without httpProxy"],
    ],
  ],
  [
    "logins of nothing, of a URL, and over a connection that anybody may listen to",
    "aws",
    {
      proxyCredentials: { username: "[secret]", password: "[secret]" },
      mirror: { artifacts: "http://mirror.corp.example/files" },
      registryCredentials: Object.fromEntries(
        ["https://a.example", "mirror.corp.example", "mirror.corp.example:443"].map((host) => [
          host,
          { username: "[secret]", password: "[secret]" },
        ]),
      ),
    },
    [
      ["proxyCredentials", "a login", "is a login without a proxy", "nothing without httpProxy"],
      ['registryCredentials["https://a.example"]', "https://a.example", "is no host", "mirror.corp.example or mirror.corp.example:5000"],
      [
        'registryCredentials["mirror.corp.example:443"]',
        "mirror.corp.example:443",
        "names the scheme's own port, which URLs do without",
        "mirror.corp.example",
      ],
      [
        'registryCredentials["mirror.corp.example"]',
        "mirror.corp.example",
        "would send its login unencrypted to http://mirror.corp.example/files",
        "hosts whose URLs in mirror begin with https",
      ],
    ],
  ],
  [
    "an exception with a scheme, and a network that is none",
    "aws",
    { httpProxy: "http://proxy.example.com:3128", noProxy: ["https://a.example", "10.0.0.1/8", ".corp.example"] },
    ["https://a.example", "10.0.0.1/8"].map((value, index) => [
      `noProxy[${index}]`,
      value,
      "is no host, domain or network",
      "mirror.corp.example, .corp.example or 10.20.0.0/16; no scheme, no *",
    ]),
  ],
  [
    "a registry of the other cloud, and a host in place of an ARN",
    "aws",
    { registryAccess: { resources: [arn, id, "123456789012.dkr.ecr.eu-central-1.amazonaws.com"] } },
    [id, "123456789012.dkr.ecr.eu-central-1.amazonaws.com"].map((value, index) => [
      `registryAccess.resources[${index + 1}]`,
      value,
      "is no registry of this cloud",
      "the ARN of repositories of ECR, * for a part of the name: arn:aws:ecr:eu-central-1:123456789012:repository/team/*",
    ]),
  ],
];
