export { commandNames, syntaxErrors } from "../../rehearsal/checkers/powershell.ts";
