export { syntaxErrors } from "../../rehearsal/checkers/powershell.ts";
