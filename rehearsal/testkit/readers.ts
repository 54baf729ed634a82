export { type ConfigRequest, checkConfigs } from "../programs/checkers/obtain.ts";
export { kubeadmProblems, syntaxErrors, visitNodes } from "../programs/checkers/readers.ts";
