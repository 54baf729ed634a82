import { mirrorOf } from "../../../components/machine/registryMirrors.ts";
import { type Artifact, downloadUrl, isImage } from "../../../components/model/artifacts.ts";
import { imagesIn } from "../../program/images.ts";
import type { RecordedProgram } from "../../program/recorded.ts";
import { mapOf, textOf } from "../../program/values.ts";
import { key, production, type Rule } from "./rule.ts";

/** Part of the limit from which on user data counts as nearly full. */
const nearlyFull = 0.9;

/** Rules on what the program made: machines with their files, and resources. */
export const contentRules: readonly Rule[] = [
  ({ leaks }) =>
    leaks.map(({ resource, path, what }) => ({
      id: "secret-in-the-open",
      level: "error",
      path: `${resource} ${path}`,
      message: `A value that is not marked as secret holds ${what}.`,
      remedy: "Let the machine fetch it by its identity at boot, or mark the value as secret.",
    })),
  ({ machines }) =>
    machines
      .filter(({ userData }) => userData.bytes > userData.limit * nearlyFull)
      .map(({ name, userData }) => ({
        id: "user-data-size",
        level: userData.bytes > userData.limit ? "error" : "warning",
        path: name,
        message: `The user data has ${userData.bytes} of ${userData.limit} bytes that the cloud takes.`,
        remedy: "Move a file of the payload to the second stage that the machine fetches by its identity.",
      })),
  ({ spec, program, machines }) => {
    const images = new Set(
      program.resources.filter(({ type }) => type.startsWith("kubernetes:")).flatMap(({ inputs }) => imagesIn(inputs)),
    );
    const files = machines.flatMap((machine) => machine.files.map(({ content }) => content));
    const inUse = (artifact: Artifact): boolean =>
      isImage(artifact) ? images.has(artifact.url) : files.some((text) => text.includes(downloadUrl(artifact.url, spec.mirror.artifacts)));
    return spec.artifacts
      .filter((artifact) => artifact.digest === null && inUse(artifact))
      .map(({ name, version }) => ({
        id: "unconfirmed-artifact",
        level: production(spec) ? "error" : "note",
        path: `${name} ${version}`,
        message: "This release has no digest of it: what runs is what its publisher, or your mirror, has under that name that day.",
        remedy: "Accept it by a reason in acknowledge, or wait for a release that has its digest.",
      }));
  },
  ({ spec, program }) =>
    spec.pools
      .filter(({ autoscale }) => autoscale !== undefined && !hasAutoscaler(program))
      .map(({ path }) => ({
        id: "no-autoscaler",
        level: "note",
        path: `${path}.autoscale`,
        message: "The pool has bounds for the autoscaler, but the program deploys none: the count stays at the lower bound.",
        remedy: "Install the cluster autoscaler; the group carries the tags that it looks for.",
      })),
  ({ program }) =>
    program.resources
      .filter(({ type, inputs }) => type === "aws:ebs/volume:Volume" && inputs.encrypted !== true)
      .map(({ name }) => ({
        id: "disk-not-encrypted",
        level: "error",
        path: name,
        message: "The volume is not encrypted.",
        remedy: "Set encrypted.",
      })),
  ({ spec, program }) => {
    if (spec.network.nat !== "none" || spec.httpProxy !== undefined) return [];
    const images = program.resources.filter(({ type }) => type.startsWith("kubernetes:")).flatMap(({ inputs }) => imagesIn(inputs));
    const registries = new Set(images.map((image) => image.split("/")[0] ?? ""));
    return [...registries]
      .filter((registry) => mirrorOf(spec.mirror.registries, registry) === undefined)
      .sort()
      .map((registry) => ({
        id: "registry-out-of-reach",
        level: "error",
        path: key("mirror.registries"),
        message: `Nodes pull images from ${registry}, but there is no NAT gateway, no proxy and no mirror of it.`,
        remedy: `Name a mirror of ${registry}; fenestra mirror --list shows what it must hold.`,
      }));
  },
];

function hasAutoscaler(program: RecordedProgram): boolean {
  return program.resources.some(
    ({ type, inputs }) =>
      type === "kubernetes:apps/v1:Deployment" && (textOf(mapOf(inputs.metadata).name) ?? "").includes("cluster-autoscaler"),
  );
}
