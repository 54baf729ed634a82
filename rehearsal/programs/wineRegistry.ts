/** Values of a registry key by their names: texts, and numbers as DWORD. */
type Key = Readonly<Record<string, string | number>>;

/**
 * Keys as Wine keeps them in the files of a prefix (wine: server/registry.c, save_registry). A key that the file has already is completed.
 */
function registryText(keys: Readonly<Record<string, Key>>): string {
  const valueText = (value: string | number): string =>
    typeof value === "number" ? `dword:${value.toString(16).padStart(8, "0")}` : `"${escaped(value)}"`;
  return Object.entries(keys)
    .map(([key, values]) =>
      ["", `[${escaped(key)}]`, ...Object.entries(values).map(([name, value]) => `"${escaped(name)}"=${valueText(value)}`), ""].join("\n"),
    )
    .join("");
}

function escaped(text: string): string {
  return text.replaceAll("\\", "\\\\").replaceAll('"', '\\"');
}

/** Settings of Wine itself, below HKEY_CURRENT_USER: the version that it gives itself for, and the shims in place of its own libraries. */
export const wineSettings = registryText({
  "Software\\Wine": { Version: "win10" },
  "Software\\Wine\\DllOverrides": { bcryptprimitives: "native", pdh: "native" },
});

/** What a Windows machine says of itself in its registry. */
interface WindowsFacts {
  /** Year of the Windows Server. */
  readonly year: string;
  /** `10.0.20348`. */
  readonly build: string;
  /** Number of the firmware's system, as SMBIOS has it. */
  readonly systemUuid: string;
}

/**
 * Values below HKEY_LOCAL_MACHINE from which the kubelet learns what system it is on: its build label, kernel version, image and system id
 * (kubernetes: pkg/kubelet/winstats, getOSInfo, getSystemUUID, getBootID).
 */
export function windowsRegistry({ year, build, systemUuid }: WindowsFacts): string {
  const [major = "", minor = "", number = ""] = build.split(".");
  return registryText({
    "Software\\Microsoft\\Windows NT\\CurrentVersion": {
      CurrentMajorVersionNumber: Number(major),
      CurrentMinorVersionNumber: Number(minor),
      CurrentBuild: number,
      CurrentBuildNumber: number,
      CurrentVersion: "6.3",
      ProductName: `Windows Server ${year} Datacenter`,
      UBR: 4171,
    },
    "System\\HardwareConfig": { LastConfig: `{${systemUuid}}` },
    "System\\CurrentControlSet\\Control\\Session Manager\\Memory Management\\PrefetchParameters": { BootId: 1 },
  });
}
