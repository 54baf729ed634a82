export { commandNames, syntaxErrors, tokens } from "../../rehearsal/programs/checkers/powershell.ts";
