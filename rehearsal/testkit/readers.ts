export { type ConfigRequest, checkConfigs } from "../programs/checkers/obtain.ts";
export { syntaxErrors, visitNodes } from "../programs/checkers/powershell.ts";
export { kubeadmProblems } from "../programs/checkers/readers.ts";
