import { names } from "../model/cloudFacts/facts.ts";

/** What few stacks set, because an organisation demands it, by path. */
export const organisationSettings = names(`
  iam mirror registryAccess certificateAuthorities noProxy httpProxy proxyCredentials registryCredentials
  encryptionAtHost secretsEncryption acknowledge ignoreTags
  kubernetes.podCidr kubernetes.serviceCidr
  network.existing network.dns network.azureCni
  controlPlane.image controlPlane.osDisk controlPlane.etcdDisk controlPlane.extraArgs
  controlPlane.admission controlPlane.auditPolicy
  pools[].image pools[].capacity pools[].labels pools[].taints pools[].nodeLogQuery pools[].metadataAcl
  pools[].kubelet pools[].ccgPlugin pools[].waitForNodes pools[].maxAge
  pools[].timeZone pools[].annotations
  pools[].beforeJoin pools[].afterJoin pools[].instanceProfile
  access.names access.dns access.serviceAccountKeys access.kubeconfigGeneration access.workloadIdentity
  addons.gmsa`);

const groups = ["Needed", "Usual", "The organisation's"] as const;
type Group = (typeof groups)[number];

function groupOf(path: string, required: boolean): Group {
  return required ? "Needed" : organisationSettings.includes(path) ? "The organisation's" : "Usual";
}

/** Settings by their groups, in order, without empty ones. */
export function grouped<T extends { readonly path: string; readonly required: boolean }>(settings: readonly T[]) {
  return groups
    .map((group) => [group, settings.filter(({ path, required }) => groupOf(path, required) === group)] as const)
    .filter(([, own]) => own.length > 0);
}
