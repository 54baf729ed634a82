import { readFileSync, writeFileSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { Command as Declaration } from "@commander-js/extra-typings";
import type {
  V1Namespace,
  V1ObjectMeta,
  V1PersistentVolume,
  V1PersistentVolumeClaim,
  V1Service,
} from "@kubernetes/client-node";
import { parseDocument } from "yaml";
import type { ClusterApi } from "../check/cluster/clusterApi.ts";
import { greet } from "../check/cluster/verify.ts";
import type { Cloud } from "../components/config/schema.ts";
import { fieldManager } from "../components/kubernetes/manifest.ts";
import { interfaceHeld } from "../components/model/cloudFacts/azure.ts";
import { messageOf } from "../components/model/messages.ts";
import { heldTypes } from "../plan/replacement/table.ts";
import { commandOf, type Terminal, UsageError } from "./exit.ts";
import { clusterIn } from "./kubeconfig.ts";
import { stackChoices, stackOption } from "./project.ts";
import { hasNothing } from "./up/engine.ts";
import { inSession, pulumiLine, type Session, watched } from "./up/session.ts";
import { Declined, quoted, runLine, type Step } from "./up/steps.ts";

const declaration = new Declaration()
  .description(
    "Destroys what a stack has made: says what will be lost and what would be left, asks, destroys, looks for what is left, removes the stack. Load balancers and disks of your own Services and claims are not the stack's: delete those first, while the cluster still runs. Each step is printed as the commands that do the same by hand, and left out where it is done. A production stack refuses until pulumi state unprotect --all.",
  )
  .option(...stackOption)
  .option("--yes", "destroy without a question, for machines")
  .option(
    "--state-too",
    "remove the place of the state and its key at the end, where up made it and no other stack is in it",
  );

type Options = ReturnType<typeof declaration.opts>;

export const command = commandOf(
  declaration,
  async (values, terminal) => {
    if (!values.yes && terminal.ask === undefined)
      throw new UsageError("down needs an answer before it destroys; allowed: a terminal, or --yes");
    return await inSession({ name: "down", stack: values.stack }, terminal, (session) => {
      if (values.stateToo && session.place.remove.length === 0)
        throw new UsageError(
          `--state-too: ${session.place.backend} is a place of yours; allowed: the one that up makes`,
        );
      return downSteps(session, values, terminal);
    });
  },
  { codes: { 1: "something is left, a step failed or was declined" }, complete: { stack: stackChoices } },
);

export function downSteps(session: Session, given: Options, terminal: Terminal): readonly Step[] {
  const left: Leftover[] = [];
  return [
    lossStep(session, given, terminal, left),
    destroyStep(session, terminal),
    leftStep(session, terminal, left),
    stackStep(session),
    ...(given.stateToo ? [stateStep(session)] : []),
  ];
}

function lossStep(session: Session, { yes }: Options, terminal: Terminal, left: Leftover[]): Step {
  const { stack, engine, place, secrets } = session;
  const { out, ask } = terminal;
  return {
    id: "loss",
    title: "What will be lost, and what would be left",
    byHand: [
      `export PULUMI_BACKEND_URL=${quoted(place.backend)}`,
      "kubectl get services,persistentvolumeclaims,persistentvolumes --all-namespaces",
    ],
    run: async (signal) => {
      // Whoever was ended after that, or asks another place.
      if (!(await engine.exists()))
        return `there is no stack of that name${secrets.encryptedkey === undefined ? "" : ", and its file says that there was (encryptedkey): set PULUMI_BACKEND_URL to where it is, or take secretsprovider and encryptedkey out of the file where it is gone"}`;
      const resources = await engine.state();
      if (resources.length === 0) return "done already";
      out(`  ${resources.length} resources, etcd with all objects and Secrets of the cluster, and its snapshots\n`);
      out((await lookInside(session, terminal, left)).map((line) => `  ${line}\n`).join(""));
      if (yes) return undefined;
      const answer = await ask?.(`Type ${stack} to destroy it: `);
      signal.throwIfAborted();
      if (answer?.trim() !== stack) throw new Declined();
      return undefined;
    },
  };
}

/** What is in the cluster, for people; what would be left goes to a list. */
async function lookInside({ spec, engine }: Session, terminal: Terminal, left: Leftover[]): Promise<readonly string[]> {
  try {
    const kubeconfig = await engine.kubeconfig();
    if (kubeconfig === undefined) return ["there is no kubeconfig: what is in the cluster is not known"];
    const api = clusterIn(kubeconfig);
    if (await greet(api, terminal)) return ["what is in the cluster is not known"];
    const found = await inventory(api);
    left.push(...leftovers(found, spec.name));
    return [
      `data of ${found.claims.length} claims and ${found.volumes.length} volumes, where their disks go with the stack`,
      ...left.map(({ object, problem, fix }) => `${object}: ${problem}\n    ${fix}`),
      `${left.length} would be left behind`,
      ...heldBy(spec.cloud),
    ];
  } catch (error) {
    return [`what is in the cluster is not known: ${messageOf(error)}`];
  }
}

/** Destroys again while Azure holds the interface of a machine that failed: `pulumi destroy` runs no hooks. */
export async function untilReleased(
  destroy: () => Promise<void>,
  tell: (text: string) => void,
  pause: () => Promise<unknown>,
): Promise<void> {
  for (let left = 5; ; left -= 1)
    try {
      return await destroy();
    } catch (error) {
      if (left === 0 || !interfaceHeld.test(messageOf(error))) throw error;
      tell("Azure keeps the network interface of a machine that failed for three minutes: again in one minute");
      await pause();
    }
}

function destroyStep({ stack, spec, engine }: Session, terminal: Terminal): Step {
  const unprotect = pulumiLine("state", "unprotect", "--all", "--stack", stack);
  return {
    id: "destroy",
    title: "Destroy it",
    byHand: [pulumiLine("destroy", "--stack", stack)],
    isDone: () => hasNothing(engine),
    run: async (signal) => {
      const destroy = async () => await watched(engine.destroy, terminal, (await engine.state()).length);
      const pause = async () => await sleep(60_000, undefined, { signal });
      await untilReleased(destroy, (text) => terminal.out(`  ${text}\n`), pause).catch((error: unknown) => {
        const more =
          spec.environment === "production" ? `\na production stack protects its data; to let it go: ${unprotect}` : "";
        throw new Error(`${messageOf(error)}${more}`);
      });
    },
  };
}

/** Lines that list what the cloud still has of a cluster. */
export function lookLines({
  name,
  cloud,
  region,
}: Pick<Session["spec"], "name" | "cloud" | "region">): readonly string[] {
  if (cloud === "azure") return [`az group list --query "[?name=='fenestra-${name}'].id" --output tsv`];
  const tagged = (filter: string) =>
    `aws resourcegroupstaggingapi get-resources --region ${region} --tag-filters ${filter} --query 'ResourceTagMappingList[].ResourceARN' --output text`;
  return [
    tagged(`Key=fenestra:cluster,Values=${name}`),
    tagged(`Key=kubernetes.io/cluster/${name}`),
    `aws ec2 describe-volumes --region ${region} --filters Name=tag-key,Values=kubernetes.io/cluster/${name} --query 'Volumes[].VolumeId' --output text`,
  ];
}

function leftStep({ spec }: Session, { out }: Terminal, left: readonly Leftover[]): Step {
  const lines = lookLines(spec);
  return {
    id: "left",
    title: "What is left",
    byHand: lines,
    run: async (signal) => {
      const found: string[] = [];
      // Keys go days later, and ended machines are listed for an hour.
      for (const line of lines)
        found.push(
          ...(await runLine(line, signal)).split(/\s+/).filter((id) => !/^(|None)$|:kms:|:instance\//.test(id)),
        );
      for (const { object, fix } of left)
        out(`  ${object} was there: its load balancer or disk may be left (${fix})\n`);
      if (found.length > 0)
        throw new Error(
          `the cloud still has\n${[...new Set(found)].join("\n")}\ndelete these, and run it again; not where another stack's cluster has the name ${spec.name}`,
        );
      return "nothing";
    },
  };
}

function stackStep({ stack, file, engine }: Session): Step {
  return {
    id: "stack",
    title: "The stack, but for its file",
    byHand: [pulumiLine("stack", "rm", "--preserve-config", "--stack", stack)],
    isDone: async () => !(await engine.exists()),
    run: async () => {
      await engine.remove();
      forgetKey(file);
    },
  };
}

/** Takes the stack's key out of its file, where nothing there is encrypted with it: the next stack has another. */
export function forgetKey(file: string): void {
  const text = readFileSync(file, "utf8");
  if (/\bsecure:/.test(text)) return;
  const document = parseDocument(text);
  for (const key of ["secretsprovider", "encryptedkey"]) document.delete(key);
  writeFileSync(file, document.toString({ lineWidth: 0 }));
}

/** AWS KMS, ScheduleKeyDeletion and DeleteAlias, "Errors"; azure-cli, keyvault/_validators.py. */
const goneAlready = /NotFoundException|is pending deletion|No deleted Vault/;

function stateStep({ place, engine }: Session): Step {
  return {
    id: "state",
    title: "The place of the state",
    byHand: place.remove,
    run: async (signal) => {
      const others = await engine.others();
      if (others.length > 0) throw new Error(`other stacks have their state there: ${others.join(", ")}`);
      // In such an order that whoever is ended in the middle finds the rest again.
      for (const line of place.remove)
        await runLine(line, signal).catch((error: unknown) => {
          if (!goneAlready.test(messageOf(error))) throw error;
        });
    },
  };
}

interface Inventory {
  readonly services: readonly V1Service[];
  readonly claims: readonly V1PersistentVolumeClaim[];
  readonly volumes: readonly V1PersistentVolume[];
  readonly namespaces: readonly V1Namespace[];
}

/** What users may have made, and what is stuck. */
async function inventory({ core }: ClusterApi): Promise<Inventory> {
  const [services, claims, volumes, namespaces] = await Promise.all([
    core.listServiceForAllNamespaces(),
    core.listPersistentVolumeClaimForAllNamespaces(),
    core.listPersistentVolume(),
    core.listNamespace(),
  ]);
  return {
    services: services.items.filter(({ spec }) => spec?.type === "LoadBalancer"),
    claims: claims.items,
    volumes: volumes.items,
    // An empty one that waits for a silent API ties it to nothing.
    namespaces: namespaces.items.filter(({ status }) =>
      status?.conditions?.some(({ type, status: is }) => holdsContent.has(type) && is === "True"),
    ),
  };
}

/** Conditions of a namespace whose deletion something in it stops. */
const holdsContent: ReadonlySet<string> = new Set(["NamespaceContentRemaining", "NamespaceFinalizersRemaining"]);

/** What of others may stop the destruction. */
export const heldBy = (cloud: Cloud): readonly string[] => [
  "not looked for, and held by others pulumi destroy stops at it:",
  ...heldTypes(cloud).map(([type, held]) => `${type}: ${held.others}\n  ${held.look}`),
];

/** Something that would outlive the cluster, or keep its removal from ending. */
interface Leftover {
  /** `Service shop/front` */
  readonly object: string;
  readonly problem: string;
  readonly fix: string;
}

/** `app.kubernetes.io/part-of` of our own objects begins so. */
const ownPart = "fenestra";

/** An object of a kind, which a list does not name. */
function named(kind: string, metadata: V1ObjectMeta = {}) {
  const { name = "", namespace, labels = {}, finalizers = [], managedFields = [], deletionTimestamp } = metadata;
  const [prefix, where] = namespace === undefined ? ["", ""] : [`${namespace}/`, `-n ${namespace} `];
  const kubectl = (verb: string) => `kubectl ${where}${verb} ${kind.toLowerCase()} ${name}`;
  const object = `${kind} ${prefix}${name}`;
  const stuck = {
    object,
    problem: `it is being deleted and does not go: finalizers ${finalizers.join(", ") || "of what is in it"}`,
    fix: `see why: ${kubectl("describe")}; only when its cloud resource is gone: remove the finalizer`,
  };
  return {
    ...{ object, name, path: `${prefix}${name}`, remove: kubectl("delete") },
    stuck: deletionTimestamp === undefined ? [] : [stuck],
    // `pulumi destroy` then removes it; users' own programs of Pulumi have other names.
    isOwn:
      managedFields.some(({ manager }) => manager === fieldManager) ||
      (labels["app.kubernetes.io/part-of"] ?? "").split("-")[0] === ownPart,
  };
}

/** What would be left of a cluster in the cloud, and what is stuck, sorted by object. */
export function leftovers({ services, claims, volumes, namespaces }: Inventory, cluster: string): readonly Leftover[] {
  const ofClaims = claims.map((claim) => ({ ...named("PersistentVolumeClaim", claim.metadata), claim }));
  const ownClaims = new Set(ofClaims.flatMap(({ isOwn, path }) => (isOwn ? [path] : [])));
  const ofServices = services.map((service) => ({ ...named("Service", service.metadata), service }));
  const ofVolumes = volumes.map((volume) => ({ ...named("PersistentVolume", volume.metadata), volume }));
  const stuck = [
    ...ofServices,
    ...ofClaims,
    ...ofVolumes,
    ...namespaces.map(({ metadata }) => named("Namespace", metadata)),
  ];
  return [
    ...ofServices
      .filter(({ isOwn }) => !isOwn)
      .map(({ object, remove, service: { status } }) => {
        const [ingress] = status?.loadBalancer?.ingress ?? [];
        const address = ingress?.hostname ?? ingress?.ip;
        const problem = `its load balancer${address === undefined ? "" : ` (${address})`} stays in the cloud and holds its subnets and security groups: nothing is left that removes it`;
        return { object, problem, fix: remove };
      }),
    ...ofClaims
      .filter(({ isOwn }) => !isOwn)
      .map(({ object, remove, claim: { spec } }) => ({
        object,
        problem:
          spec?.volumeName === undefined
            ? "it has no volume yet, and may get one until the machines go"
            : `it holds the volume ${spec.volumeName}, whose disk stays in the cloud`,
        fix: `${remove}, after its pods`,
      })),
    ...ofVolumes.flatMap(({ object, name, volume: { spec } }) => {
      const claim = spec?.claimRef && `${spec.claimRef.namespace}/${spec.claimRef.name}`;
      return claim !== undefined && ownClaims.has(claim)
        ? []
        : [{ object, ...volumeLeftover(name, spec, claim, cluster) }];
    }),
    ...stuck.flatMap((each) => each.stuck),
  ].toSorted((a, b) => (a.object < b.object ? -1 : a.object > b.object ? 1 : 0));
}

function volumeLeftover(
  name: string,
  spec: V1PersistentVolume["spec"],
  claim: string | undefined,
  cluster: string,
): Pick<Leftover, "problem" | "fix"> {
  const [handle, policy] = [spec?.csi?.volumeHandle, spec?.persistentVolumeReclaimPolicy ?? "Retain"];
  const disk = `its disk${handle === undefined ? "" : ` (${handle})`}`;
  if (policy === "Delete")
    return {
      problem: `${disk} stays in the cloud unless its claim${claim === undefined ? "" : ` ${claim}`} is deleted while the storage driver runs`,
      fix: `delete the claim; the volume goes with it`,
    };
  // Azure's disks in the cluster's resource group go with it.
  if (handle?.toLowerCase().includes(`/resourcegroups/fenestra-${cluster}/`))
    return {
      problem: `its reclaim policy is ${policy}, but ${disk} is in the cluster's resource group and is deleted with that`,
      fix: `copy the disk if you want to keep it: az snapshot create --resource-group ANOTHER --name ${name} --source ${handle}`,
    };
  return {
    problem: `its reclaim policy is ${policy}: ${disk} stays in the cloud in any case`,
    fix: `keep the disk on purpose, or kubectl patch pv ${name} -p '{"spec":{"persistentVolumeReclaimPolicy":"Delete"}}' and delete its claim`,
  };
}
