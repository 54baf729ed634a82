export { joinSecretName } from "../clouds/cloud.ts";
export { simulateCloud } from "../clouds/clouds.ts";
