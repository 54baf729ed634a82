import { type WindowsFacts, windowsReleases } from "../../model/operatingSystems.ts";

const text = (value: string): string => JSON.stringify(value);

/** A release of Windows that images are made for, whether or not a pool can run it. */
interface ImageRelease {
  readonly name: string;
  readonly build: string;
  /** How tags say it by themselves. */
  readonly tags: readonly string[];
  /** How tags say it beside a word for Windows; alone they may be a date or a version. */
  readonly versions: readonly string[];
}

/** Releases without a pool (learn.microsoft.com: "Windows container version compatibility"). */
const others = [
  ["windows-2016", "14393", ["ltsc2016", "sac2016"], ["2016", "1607"]],
  ["1709", "16299", [], ["1709"]],
  ["1803", "17134", [], ["1803"]],
  ["1903", "18362", [], ["1903"]],
  ["1909", "18363", [], ["1909"]],
  ["2004", "19041", [], ["2004"]],
  ["20H2", "19042", ["20[Hh]2"], []],
  ["23H2", "25398", ["23[Hh]2"], []],
] as const;

/** Other names of releases with a pool. */
const halves: Readonly<Record<WindowsFacts["name"], readonly string[]>> = {
  "windows-2019": ["1809"],
  "windows-2022": ["21[Hh]2"],
  "windows-2025": ["24[Hh]2"],
};

/** Every release whose images are recognised. */
export const imageReleases: readonly ImageRelease[] = [
  ...windowsReleases.map(({ name, build, imageTag }) => {
    const year = name.replace("windows-", "");
    return { name, build, tags: [imageTag], versions: [year, ...halves[name]] };
  }),
  ...others.map(([name, build, tags, versions]) => ({ name, build: `10.0.${build}`, tags, versions })),
];

/**
 * Expression for an image whose tag names a release: `:ltsc2022`, `:windowsservercore-ltsc2022`, `:windows-2022-5.0.0`,
 * `:3-windows-ltsc-2022`, `:3.1-nanoserver-1809`, `:10.0.20348.2340`.
 */
export function tagPattern({ build, tags, versions }: Pick<ImageRelease, "build" | "tags" | "versions">): string {
  const own = [
    ...tags.map((tag) => tag.replace("ltsc", "ltsc-?")),
    `${build.replaceAll(".", "[.]")}([.][0-9]+)?`,
    ...versions.map((version) => `win(dows(server)?)?-?${version}`),
  ];
  const beside = versions.map((version) => `(servercore|nanoserver|microsoft[.]com/windows)([^@]*[:-])?${version}`);
  return `(${[`[:-](${own.join("|")})`, ...beside].join("|")})([-_@]|$)`;
}

/** One of these is in every text that the pattern finds: to look for them costs a tenth of it. */
export function tokensOf({ build, tags, versions }: ImageRelease): readonly string[] {
  const spelled = [...tags.map((tag) => tag.replace(/^[a-z]+/, "")), ...versions].flatMap((each) =>
    each.includes("[Hh]") ? ["H", "h"].map((letter) => each.replace("[Hh]", letter)) : [each],
  );
  return [...new Set([build.replace(/^.*[.]/, ""), ...spelled])];
}

/** CEL: names of those releases that the images in `variables.names` name, each once. */
function named(releases: readonly ImageRelease[]): string {
  const each = releases.map((release) => {
    const tokens = tokensOf(release).map((token) => `variables.names.contains(${text(token)})`);
    const matches = `variables.names.matches(${text(tagPattern(release))})`;
    return `(${tokens.join(" || ")}) && ${matches} ? ${text(release.name)} : ""`;
  });
  return `[${each.join(", ")}].filter(r, r != "")`;
}

const [withPools, without] = [
  imageReleases.slice(0, windowsReleases.length),
  imageReleases.slice(windowsReleases.length),
] as const;

/** CEL: names of all releases that they name. Of those without a pool, few images name one. */
export const releasesExpression = `(${named(withPools)}) + (variables.names.matches(${text(
  without.flatMap(tokensOf).join("|"),
)}) ? (${named(without)}) : [])`;
