import { type RecordedProgram, type RecordedResource, resourcesOfType } from "../program/recorded.ts";
import { listOf, mapOf, type PropertyMap, textOf } from "../program/values.ts";

/** An extension of a VM or scale set. */
export interface AzureExtension {
  readonly publisher: string;
  readonly type: string;
  readonly settings: PropertyMap;
  /** What only the machine can read. */
  readonly protectedSettings: PropertyMap;
}

/** Extensions of a scale set: in its model, or as separate resources. */
export function extensionsOfSet(program: RecordedProgram, set: RecordedResource): readonly AzureExtension[] {
  const model = listOf(mapOf(mapOf(set.inputs.virtualMachineProfile).extensionProfile).extensions).map(mapOf);
  const own = resourcesOfType(program, "azure-native:compute:VirtualMachineScaleSetExtension")
    .filter(({ inputs }) => textOf(inputs.vmScaleSetName) === textOf(set.outputs.name))
    .map(({ inputs }) => inputs);
  return [...model, ...own].map(extension);
}

/** Extensions of a VM. */
export function extensionsOfVm(program: RecordedProgram, vm: RecordedResource): readonly AzureExtension[] {
  return resourcesOfType(program, "azure-native:compute:VirtualMachineExtension")
    .filter(({ inputs }) => textOf(inputs.vmName) === textOf(vm.outputs.name))
    .map(({ inputs }) => extension(inputs));
}

function extension(inputs: PropertyMap): AzureExtension {
  return {
    publisher: textOf(inputs.publisher) ?? "",
    type: textOf(inputs.type) ?? "",
    settings: mapOf(inputs.settings),
    protectedSettings: mapOf(inputs.protectedSettings),
  };
}

/**
 * The command of a machine's CustomScriptExtension; `undefined` when it has none.
 *
 * @throws Error where Azure would refuse the settings.
 */
export function startCommandOf(extensions: readonly AzureExtension[], name: string): string | undefined {
  const scripts = extensions.filter(
    ({ publisher, type }) => publisher === "Microsoft.Compute" && type === "CustomScriptExtension",
  );
  if (scripts.length > 1) throw new Error(`${name}: a machine takes one CustomScriptExtension, not ${scripts.length}`);
  const [script] = scripts;
  if (script === undefined) return undefined;
  const open = textOf(script.settings.commandToExecute);
  const hidden = textOf(script.protectedSettings.commandToExecute);
  if (open !== undefined && hidden !== undefined)
    throw new Error(`${name}: commandToExecute is in settings and in protectedSettings; Azure takes one of them`);
  return hidden ?? open;
}

/** Whether an application health extension reports a machine's health to the scale set. */
export function watchesHealth(extensions: readonly AzureExtension[]): boolean {
  return extensions.some(({ publisher, type, settings }) => {
    if (publisher !== "Microsoft.ManagedServices" || !/^ApplicationHealth(Linux|Windows)$/.test(type)) return false;
    const path = textOf(settings.requestPath);
    // A TCP probe takes a port and no path, the others a path (Azure, "Application Health extension").
    return textOf(settings.protocol) === "tcp"
      ? typeof settings.port === "number" && path === undefined
      : path !== undefined;
  });
}
