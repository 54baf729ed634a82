export { artifactFiles } from "../clouds/publishers.ts";
export { type CommandResult, runCommand, runOrFail } from "../host/command.ts";
export { unshareFlags } from "../host/hostCheck.ts";
export { machineEnvironment } from "../host/processes.ts";
export { commandFolder, enterRoot, fillRoot } from "../host/rootScripts.ts";
export { diskFolder, kernelAndDisk } from "../machines/fakeCommands.ts";
