export { type ConfigRequest, checkConfigs } from "../programs/checkers/check.ts";
export { syntaxErrors, visitNodes } from "../programs/checkers/powershell.ts";
export { kubeadmProblems } from "../programs/checkers/readers.ts";
