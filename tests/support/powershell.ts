export { commandNames, syntaxErrors } from "../../rehearsal/programs/checkers/powershell.ts";
