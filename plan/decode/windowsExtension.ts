import { UserDataError } from "./machine.ts";

/** Where Azure leaves the custom data of a Windows machine, not executed. */
const customData = "C:\\AzureData\\CustomData.bin";
/** Longest command line of cmd, through which the extension runs its command. */
const commandLimit = 8191;

/**
 * Reads the command of Azure's CustomScriptExtension as cmd would and makes sure that it runs the custom data: a copy with a name that
 * PowerShell takes, and that copy run.
 *
 * @returns path of the script that runs.
 * @throws UserDataError when the machine would never start its payload.
 */
export function startedScript(command: string | undefined): string {
  if (command === undefined) throw new UserDataError("no extension runs the custom data, which Windows never does itself");
  if (command.length > commandLimit)
    throw new UserDataError(`the extension's command has ${command.length} characters, cmd takes ${commandLimit}`);
  // Quotes, variables and characters beyond ASCII pass through cmd changed.
  if (!/^[ -~]+$/.test(command) || /["%^]/.test(command))
    throw new UserDataError("the extension's command holds characters that cmd changes");
  const [copy = "", run = "", ...more] = command.split(" && ");
  const [, source, target] = /^copy \/y (\S+) (\S+)$/i.exec(copy) ?? [];
  const [, script] = /^powershell(?:\.exe)? (?:-\S+ (?:\w+ )?)*-File (\S+)$/i.exec(run) ?? [];
  if (more.length > 0 || source === undefined || target === undefined || script === undefined)
    throw new UserDataError(`the extension's command is not a copy and a start of the custom data: ${command}`);
  if (source.toLowerCase() !== customData.toLowerCase())
    throw new UserDataError(`the extension copies ${source}; the custom data is ${customData}`);
  if (script.toLowerCase() !== target.toLowerCase())
    throw new UserDataError(`the extension copies the custom data to ${target} and runs ${script}`);
  if (!script.toLowerCase().endsWith(".ps1")) throw new UserDataError(`PowerShell runs no file named ${script}`);
  return script;
}
