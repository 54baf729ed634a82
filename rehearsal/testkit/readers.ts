export { type ConfigRequest, checkConfigs, kubeadmProblems, syntaxErrors, visitNodes } from "../programs/checkers.ts";
