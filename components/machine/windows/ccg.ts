import { requireArtifact } from "../../model/artifacts.ts";
import { ccgPlugins } from "../../model/cloudFacts/identities.ts";
import type { NodeSettings } from "../../model/nodeSettings.ts";
import type { WindowsPool } from "../../model/pools.ts";
import { sources, type WindowsArtifact } from "./artifacts.ts";
import { windowsPaths } from "./paths.ts";

/** A registry value. `Sddl`: text of a security descriptor, written in binary. An empty name: the key's default. */
interface RegistryValue {
  readonly path: string;
  readonly name: string;
  readonly type: "String" | "Sddl";
  readonly value: string;
}

const classes = "HKLM:\\SOFTWARE\\Classes";

/**
 * Who may launch and call the class, as the plug-in's own registration has it (Azure/AgentBaker:
 * vhdbuilder/scripts/windows/gmsa).
 */
const permission = "O:BAG:BAD:(A;;0xb;;;SY)(A;;0xb;;;AU)";

/** The interface by which Windows calls the class, and its proxy stub, both part of Windows. */
const credentialsInterface = "{6ECDA518-2010-4437-8BC3-46E752B7B172}";
const credentialsStub = "{A6FF50C0-56C0-71CA-5732-BED303A59628}";

/**
 * Input of the stage `ccg`: `null` when the pool requests no plug-in. Where none is published, the stage checks that
 * the pool's image includes it.
 */
export function ccgData(spec: NodeSettings, { ccgPlugin }: WindowsPool) {
  if (!ccgPlugin) return null;
  const { classId, install } = ccgPlugins[spec.cloud];
  return {
    folder: windowsPaths.ccg,
    allowedClasses: "SYSTEM\\CurrentControlSet\\Control\\CCG\\COMClasses",
    classId: `{${classId}}`,
    install:
      install === undefined
        ? null
        : {
            dll: install.dll,
            target: `${systemFolder}\\${install.dll}`,
            registry: registration(`{${classId}}`, `{${install.appId}}`, install.dll),
          },
  };
}

/** Where the plug-in's event manifests look for their message resources. */
const systemFolder = "C:\\Windows\\System32";

/** The class's COM registration: in a surrogate process, since Windows activates it out of process. */
function registration(classId: string, appId: string, dll: string): readonly RegistryValue[] {
  const value = (path: string, name: string, text: string): RegistryValue => ({
    path: `${classes}\\${path}`,
    name,
    type: "String",
    value: text,
  });
  const rights = (name: string): RegistryValue => ({ ...value(`AppID\\${appId}`, name, permission), type: "Sddl" });
  return [
    value(`Interface\\${credentialsInterface}`, "", "ICcgDomainAuthCredentials"),
    value(`Interface\\${credentialsInterface}\\ProxyStubClsid32`, "", credentialsStub),
    rights("AccessPermission"),
    rights("LaunchPermission"),
    value(`AppID\\${appId}`, "DllSurrogate", ""),
    value(`CLSID\\${classId}`, "AppID", appId),
    value(`CLSID\\${classId}\\InprocServer32`, "", `${systemFolder}\\${dll}`),
    value(`CLSID\\${classId}\\InprocServer32`, "ThreadingModel", "Both"),
  ];
}

/** The plug-in's archive as one more download; none when the image includes it. */
export function ccgArtifacts(spec: NodeSettings, { ccgPlugin }: WindowsPool): readonly WindowsArtifact[] {
  const { install } = ccgPlugins[spec.cloud];
  if (!ccgPlugin || install === undefined) return [];
  const { url, algorithm, digest, version } = requireArtifact(spec.artifacts, install.artifact);
  return [
    {
      name: "ccg-plugin",
      file: `${version}-ccg-plugin.zip`,
      urls: sources(spec, url),
      algorithm,
      digest: digest ?? "",
      checksumUrls: [],
      stage: "ccg",
      folder: windowsPaths.ccg,
      // bsdtar, which is part of Windows, detects zip files.
      unpack: true,
    },
  ];
}
