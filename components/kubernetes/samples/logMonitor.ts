import { readFileSync } from "node:fs";
import { curlArguments, sources } from "../../machine/windows/artifacts.ts";
import { requireArtifact } from "../../model/artifacts.ts";
import type { ClusterSpec } from "../../model/clusterSpec.ts";
import { otherReleases } from "../../model/releases.ts";
import { windowsImage } from "../../model/windowsImages.ts";
import type { Manifest } from "../manifest.ts";
import { sampleResources, sampleService, samplesNamespace, windowsDeployment, yearOf } from "./sampleSite.ts";

const script = readFileSync(new URL("logMonitor.ps1", import.meta.url), "utf8");
const configMap = "log-monitor";
const setupFolder = "C:\\setup";
/** LogMonitor's own folder, where it looks for its configuration by default; newer releases refuse files elsewhere. */
const toolFolder = "C:\\LogMonitor";

/**
 * What LogMonitor brings to the container's output (microsoft/windows-container-tools: LogMonitor/docs/README.md): errors of the event log,
 * requests as IIS writes them to its files, and the same as it traces them. The folder of the files appears with the first request.
 */
const logMonitorConfig = {
  LogConfig: {
    sources: [
      {
        type: "EventLog",
        startAtOldestRecord: true,
        eventFormatMultiLine: false,
        channels: [
          { name: "system", level: "Error" },
          { name: "application", level: "Warning" },
        ],
      },
      {
        type: "File",
        directory: "C:\\inetpub\\logs\\LogFiles",
        filter: "*.log",
        includeSubdirectories: true,
        waitInSeconds: "INFINITY",
      },
      {
        type: "ETW",
        eventFormatMultiLine: false,
        providers: [
          {
            providerName: "Microsoft-Windows-IIS-Logging",
            providerGuid: "7E8AD27F-B271-4EA2-A783-A47BDE29143B",
            level: "Information",
          },
        ],
      },
    ],
  },
};

/** IIS traces its requests only when this is set (IIS documentation, `logFile` element, `logTargetW3C`); the monitor ends with the service. */
const serve =
  "C:\\Windows\\System32\\inetsrv\\appcmd.exe set config /section:system.applicationHost/sites /siteDefaults.logFile.logTargetW3C:File,ETW /commit:apphost && C:\\ServiceMonitor.exe w3svc";

/** Where the init container finds LogMonitor.exe, and the digest it must have. */
function download(spec: Pick<ClusterSpec, "artifacts" | "credentials" | "httpProxy" | "noProxy" | "mirror" | "network">) {
  const artifact = requireArtifact(spec.artifacts, {
    name: "LogMonitor.exe",
    version: otherReleases["LogMonitor.exe"],
    os: "windows",
  });
  const unknown = artifact.digest === null && artifact.checksumUrl !== undefined;
  return [
    { name: "CURL", value: curlArguments(spec).join(" ") },
    { name: "URLS", value: sources(spec, artifact.url).join(" ") },
    { name: "SHA256", value: artifact.digest ?? "" },
    { name: "RELEASES", value: unknown ? sources(spec, artifact.checksumUrl).join(" ") : "" },
  ];
}

/**
 * IIS per Windows build whose files, events and traces come to `kubectl logs` by LogMonitor. No image with LogMonitor is published: an init
 * container fetches it, and the web server never starts with a file that has another digest.
 */
export function logMonitorManifests(
  spec: Pick<ClusterSpec, "artifacts" | "credentials" | "httpProxy" | "noProxy" | "mirror" | "network" | "windows">,
): readonly Manifest[] {
  return [
    {
      apiVersion: "v1",
      kind: "ConfigMap",
      metadata: { name: configMap, namespace: samplesNamespace },
      data: {
        "fetch.ps1": script,
        "LogMonitorConfig.json": `${JSON.stringify(logMonitorConfig, null, 2)}\n`,
      },
    },
    ...spec.windows.flatMap((os): Manifest[] => {
      const name = `log-monitor-${yearOf(os)}`;
      const image = windowsImage(spec.artifacts, "servercore/iis", os);
      // A folder each: Windows containers cannot mount a single file.
      const setup = { name: "setup", mountPath: setupFolder, readOnly: true };
      return [
        windowsDeployment({
          name,
          os,
          initContainers: [
            {
              name: "fetch",
              image,
              command: [
                "powershell.exe",
                "-NoProfile",
                "-NonInteractive",
                "-ExecutionPolicy",
                "Bypass",
                "-File",
                `${setupFolder}\\fetch.ps1`,
              ],
              env: [
                ...download(spec),
                { name: "FOLDER", value: toolFolder },
                { name: "CONFIG", value: `${setupFolder}\\LogMonitorConfig.json` },
              ],
              volumeMounts: [setup, { name: "tools", mountPath: toolFolder }],
              resources: sampleResources,
            },
          ],
          container: {
            name: "iis",
            image,
            command: [`${toolFolder}\\LogMonitor.exe`, "cmd.exe", "/S", "/C", serve],
            ports: [{ name: "http", containerPort: 80 }],
            volumeMounts: [{ name: "tools", mountPath: toolFolder, readOnly: true }],
          },
          volumes: [
            { name: "setup", configMap: { name: configMap } },
            { name: "tools", emptyDir: {} },
          ],
        }),
        sampleService(name, "NodePort"),
      ];
    }),
  ];
}
