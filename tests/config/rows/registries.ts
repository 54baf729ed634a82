import type { Row } from "./row.ts";

const arn = "arn:aws:ecr:eu-central-1:123456789012:repository/team/*";
const id =
  "/subscriptions/00000000-0000-4000-8000-000000000000/resourceGroups/shared/providers/Microsoft.ContainerRegistry/registries/example";

/** Mistakes in pulls from the cloud's own registries. */
export const registryRows: readonly Row[] = [
  [
    "an authority that is none, and exceptions from no proxy",
    "azure",
    { certificateAuthorities: ["-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----"], noProxy: ["mirror.corp.example"] },
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
  ],
  [
    "an exception with a scheme, and a network that is none",
    "aws",
    { httpProxy: "http://proxy.example.com:3128", noProxy: ["https://a.example", "10.0.0.1/8", ".corp.example"] },
  ],
  [
    "a registry of the other cloud, and a host in place of an ARN",
    "aws",
    { registryAccess: { resources: [arn, id, "123456789012.dkr.ecr.eu-central-1.amazonaws.com"] } },
  ],
];
