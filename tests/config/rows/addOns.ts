import type { Row } from "./row.ts";

const share = { name: "files", source: "//files.test/pods", secret: "smb-pods" };

/** Mistakes in the options of add-ons. */
export const addOnRows: readonly Row[] = [
  [
    "a share by its Windows path",
    "aws",
    { "addons.smb": { shares: [{ ...share, source: "\\\\files.test\\pods" }] } },
    [
      [
        "addons.smb.shares[0].source",
        "\\\\files.test\\pods",
        "is not the address of a share",
        "a text, two slashes, the server, a slash, the share, such as //files.corp.example.com/pods. Address of the share. Nodes look the server's name up, Windows ones by their own DNS: a Service's name is not found there.",
      ],
    ],
  ],
  [
    "a share named as the disks' StorageClass",
    "azure",
    { "addons.smb": { shares: [{ ...share, name: "windows" }] } },
    [
      [
        "addons.smb.shares[0].name",
        "windows",
        "is the StorageClass of the cloud's disks",
        "a name other than linux and windows",
      ],
    ],
  ],
  [
    "two shares of one name",
    "aws",
    { "addons.smb": { shares: [share, { ...share, source: "//files.test/other" }] } },
    [["addons.smb.shares[1].name", "files", "is listed twice", "each name once"]],
  ],
];
