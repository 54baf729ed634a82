import { cidr, contains } from "./cidr.ts";
import type { ClusterSpec } from "./clusterSpec.ts";
import { childPath, type Problem, problem } from "./problem.ts";

/** Documentation networks, never assigned (RFC 5737). */
export const documentationNetworks = ["192.0.2.0/24", "198.51.100.0/24", "203.0.113.0/24"].map(cidr);

/** Documentation host names, which serve no files or images (RFC 2606). */
const documentationHost = /(^|\.)example(\.(com|net|org))?$/;

/** A typed placeholder: digits in sequence. */
const typedImage = /^ami-0123456789abc|\.012345678$/;

/**
 * Example values from our stack files and documentation, with which an update would hang, or fail after a hundred
 * resources.
 */
export function exampleProblems(spec: ClusterSpec): readonly Problem[] {
  const { artifacts, registries } = spec.mirror;
  const images = [
    { path: "config.fenestra:controlPlane.image", image: spec.controlPlane.image },
    ...spec.pools.map(({ path, image }) => ({ path: `${path}.image`, image })),
  ].filter(({ image }) => typedImage.test(image));
  const urls = [
    { path: "config.fenestra:mirror.artifacts", url: artifacts },
    ...Object.entries(registries).map(([name, url]) => ({
      path: childPath("config.fenestra:mirror.registries", name),
      url,
    })),
    { path: "config.fenestra:httpProxy", url: spec.httpProxy },
  ].filter(({ url }) => url !== undefined && documentationHost.test(new URL(url).hostname));
  const networks = [
    ...(spec.publicAccess ?? []).map((value) => ["public", value] as const),
    ...(spec.privateAccess ?? []).map((value) => ["private", value] as const),
  ].filter(([, text]) => documentationNetworks.some((network) => contains(network, cidr(text))));
  return [
    ...networks.map(([way, value]) =>
      problem(
        `config.fenestra:access.${way}.allow`,
        value,
        "is reserved for documentation: nobody reaches the API from there, not even the deployer",
        "the networks of your offices, runners and VPNs",
      ),
    ),
    ...[...new Map(images.map((each) => [each.path, each])).values()].map(({ path, image }) =>
      problem(path, image, "is a placeholder, not an image", "latest or the id of an image that you have tested"),
    ),
    ...urls.map(({ path, url }) =>
      problem(path, url, "is a name reserved for documentation, which leads nowhere", "the address of your own"),
    ),
  ];
}
