import type { V1Pod } from "@kubernetes/client-node";
import { NotYet, until } from "../check.ts";
import { type NodeFacts, type NodeGroup, nodeGroups, nodesOf } from "./nodes.ts";
import type { VerifyCheck } from "./verifyCheck.ts";

/** 0xc0370106 */
const newerImage = 3_224_830_214;

const versionOf = (words: string): readonly [build: string, update: number] | undefined => {
  const [, build, update] = /(?:^|[^\d.])(10\.0\.\d{5})\.(\d+)(?![\d.])/.exec(words) ?? [];
  return build === undefined ? undefined : [build, Number(update)];
};

/** Pods whose images are newer than their node, by a tag with the update or by the code of an end. Pure. */
export function newerImages(
  nodes: readonly Pick<NodeFacts, "name" | "update">[],
  pods: readonly V1Pod[],
): readonly string[] {
  return pods.flatMap(({ metadata, spec, status }) => {
    const node = nodes.find(({ name }) => name === spec?.nodeName);
    const own = versionOf(node?.update ?? "");
    if (node === undefined || own === undefined) return [];
    return [...(spec?.initContainers ?? []), ...(spec?.containers ?? [])].flatMap(({ name, image = "" }) => {
      const wanted = versionOf(image);
      const state = [...(status?.initContainerStatuses ?? []), ...(status?.containerStatuses ?? [])].find(
        (each) => each.name === name,
      );
      const ends = [state?.state?.terminated, state?.lastState?.terminated].some((end) => end?.exitCode === newerImage);
      const later = wanted?.[0] === own[0] && wanted[1] > own[1];
      return ends || later
        ? [
            `pod ${metadata?.namespace}/${metadata?.name}: ${image} is newer than its node ${node.name} with ${node.update}${ends ? ", and ends with 0xc0370106" : ""}: roll the pool to an image of this month first`,
          ]
        : [];
    });
  });
}

export function updatesCheck(group: NodeGroup): VerifyCheck {
  return {
    id: `updates/${group.id}`,
    title: `no image of a pod on ${group.id} is of a later month than its node`,
    run: async ({ api, signal, note }) => {
      const options = {
        signal,
        limitMs: 60_000,
        intervalMs: 5_000,
        lookAt: 'docs/operations/updates.md, "The month of Windows images"',
      };
      await until("images and updates", options, async () => {
        const nodes = nodeGroups(nodesOf((await api.core.listNode()).items)).find(({ id }) => id === group.id);
        const problems = newerImages(nodes?.nodes ?? [], (await api.core.listPodForAllNamespaces()).items);
        if (problems.length > 0) throw new NotYet(problems.join("\n"));
        const months = Map.groupBy(nodes?.nodes ?? [], ({ update }) => update ?? "no update");
        note([...months].map(([update, { length }]) => `${length} with ${update}`).join(", "));
      });
    },
  };
}
