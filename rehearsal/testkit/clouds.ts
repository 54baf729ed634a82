export { artifactServer } from "../clouds/artifacts.ts";
export { type CloudSimulation, joinSecretName } from "../clouds/cloud.ts";
export { simulateCloud } from "../clouds/clouds.ts";
export { listen } from "../clouds/server.ts";
