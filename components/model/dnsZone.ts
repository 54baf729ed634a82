interface DnsZone {
  readonly subscription: string;
  readonly resourceGroup: string;
  readonly name: string;
  /** Whether only linked networks resolve its names. */
  readonly private: boolean;
}

/** The zone of an accepted resource id. @throws RangeError for anything else */
export function dnsZone(id: string): DnsZone {
  const [, subscription, resourceGroup, kind, name] =
    /^\/subscriptions\/([^/]+)\/resourceGroups\/([^/]+)\/providers\/Microsoft\.Network\/([^/]+)\/([^/]+)$/.exec(id) ??
    [];
  if (subscription === undefined || resourceGroup === undefined || kind === undefined || name === undefined)
    throw new RangeError(`${id} is not the id of a DNS zone`);
  return { subscription, resourceGroup, name, private: kind.toLowerCase() === "privatednszones" };
}
