export { type CloudSimulation, joinSecretName } from "../clouds/cloud.ts";
export { simulateCloud } from "../clouds/clouds.ts";
export { artifactServer } from "../clouds/publishers.ts";
export { listen } from "../clouds/server.ts";
