import type { RecordedResource } from "../program/recorded.ts";
import { listOf, mapOf, type PropertyMap, textOf } from "../program/values.ts";

export interface AzureExtension {
  readonly publisher: string;
  readonly type: string;
  readonly settings: PropertyMap;
  /** What only the machine can read. */
  readonly protectedSettings: PropertyMap;
}

/** Extensions in the model of a scale set. */
export function extensionsOfSet({ inputs }: RecordedResource): readonly AzureExtension[] {
  const { extensionProfile } = mapOf(inputs.virtualMachineProfile);
  return listOf(mapOf(extensionProfile).extensions)
    .map(mapOf)
    .map(({ publisher, type, settings, protectedSettings }) => ({
      publisher: textOf(publisher) ?? "",
      type: textOf(type) ?? "",
      settings: mapOf(settings),
      protectedSettings: mapOf(protectedSettings),
    }));
}

/**
 * The command of a machine's CustomScriptExtension; `undefined` when it has none.
 *
 * @throws Error where Azure would refuse the settings.
 */
export function startCommandOf(extensions: readonly AzureExtension[], name: string): string | undefined {
  const scripts = extensions.filter(({ publisher, type }) => publisher === "Microsoft.Compute" && type === "CustomScriptExtension");
  if (scripts.length > 1) throw new Error(`${name}: a machine takes one CustomScriptExtension, not ${scripts.length}`);
  const [script] = scripts;
  if (script === undefined) return undefined;
  const open = textOf(script.settings.commandToExecute);
  const hidden = textOf(script.protectedSettings.commandToExecute);
  if (open !== undefined && hidden !== undefined)
    throw new Error(`${name}: commandToExecute is in settings and in protectedSettings; Azure takes one of them`);
  return hidden ?? open;
}

/**
 * Port at which an application health extension looks after its own machine by TCP; `undefined` when none does. A TCP probe takes a port
 * and no path (Azure documentation, "Application Health extension"). A probe by HTTP, whose answers it reads, is not imitated: nobody
 * looks.
 */
export function healthPortOf(extensions: readonly AzureExtension[]): number | undefined {
  const probe = extensions.find(
    ({ publisher, type, settings }) =>
      publisher === "Microsoft.ManagedServices" &&
      /^ApplicationHealth(Linux|Windows)$/.test(type) &&
      textOf(settings.protocol) === "tcp" &&
      settings.requestPath === undefined,
  );
  return typeof probe?.settings.port === "number" ? probe.settings.port : undefined;
}
