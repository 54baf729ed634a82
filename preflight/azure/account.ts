import { z } from "zod";
import { doubtful, type Question, refused, some, unless } from "../question.ts";
import { type AzureNeeds, get, listed, subscriptionOf } from "./needs.ts";

/** Subscription and location are usable. */
const account: Question<AzureNeeds> = {
  id: "account",
  async *run(needs, ask) {
    const { subscription, region } = needs;
    const found = await unless(/^(SubscriptionNotFound|InvalidSubscriptionId)$/, subscriptionOf(ask, needs), undefined);
    if (found === undefined) {
      yield refused(
        `this identity sees no subscription ${needs.accountId}`,
        `set fenestra:accountId, or az login --tenant with that of the subscription`,
      );
      return;
    }
    const { state, subscriptionPolicies } = found;
    if (state !== "Enabled")
      yield refused(`the subscription is ${state}`, "reactivate it: portal, Subscriptions, Reactivate");
    if (
      /FreeTrial|Student|Sponsored/i.test(subscriptionPolicies.quotaId) ||
      subscriptionPolicies.spendingLimit === "On"
    )
      yield doubtful(
        `the offer ${subscriptionPolicies.quotaId} has low quotas, and they are not raised`,
        "upgrade it to pay-as-you-go: portal, Subscriptions, Upgrade",
      );
    const locations = await ask(
      get("Microsoft.Resources/subscriptions/locations/read", `${subscription}/locations`, "2022-12-01"),
      listed(z.object({ name: z.string() })),
    );
    if (!locations.value.some(({ name }) => name === region))
      yield refused(
        `the subscription has no location ${region}`,
        `set fenestra:region to one of ${some(locations.value.map(({ name }) => name))}`,
      );
  },
};

/** Resource providers of all types that the program makes: azure-native registers none. */
const providers: Question<AzureNeeds> = {
  id: "providers",
  async *run({ program, subscription }, ask) {
    const needed = new Set(
      program.resources.flatMap(({ id, type }) =>
        type.startsWith("azure-native:")
          ? [...(id?.matchAll(/\/providers\/([^/]+)/g) ?? [])].map(([, name = ""]) => name)
          : [],
      ),
    );
    const { value } = await ask(
      get("Microsoft.Resources/subscriptions/providers/read", `${subscription}/providers`, "2021-04-01"),
      listed(z.object({ namespace: z.string(), registrationState: z.string() })),
    );
    const registered = new Set(
      value.filter((each) => each.registrationState === "Registered").map((each) => each.namespace.toLowerCase()),
    );
    const missing = [...needed].filter((name) => !registered.has(name.toLowerCase()));
    if (missing.length > 0)
      yield refused(
        `resource providers are not registered: ${missing.join(", ")}`,
        missing.map((name) => `az provider register --wait --namespace ${name}`).join(" && "),
      );
  },
};

/** The resource group is free, or the cluster's own. What is in it has its names from there. */
const names: Question<AzureNeeds> = {
  id: "names",
  async *run({ group, cluster }, ask) {
    if (!group.isMade) return;
    const found = await unless(
      /NotFound$/,
      ask(
        get("Microsoft.Resources/subscriptions/resourceGroups/read", group.id, "2021-04-01"),
        z.object({ tags: z.record(z.string(), z.string()).default({}) }),
      ),
      undefined,
    );
    if (found !== undefined && found.tags["fenestra:cluster"] !== cluster)
      yield refused(
        `the resource group ${group.id.split("/").at(-1)} exists and is not this cluster's`,
        `choose another fenestra:name, or az group delete --name ${group.id.split("/").at(-1)} where nobody needs it`,
      );
  },
};

/** Locks stop updates (ReadOnly) and pulumi destroy (CanNotDelete). */
const locks: Question<AzureNeeds> = {
  id: "locks",
  async *run({ subscription, group }, ask) {
    const { value } = await ask(
      get(
        "Microsoft.Authorization/locks/read",
        `${subscription}/providers/Microsoft.Authorization/locks`,
        "2016-09-01",
      ),
      listed(z.object({ id: z.string(), properties: z.object({ level: z.string() }) })),
    );
    for (const { id, properties } of value) {
      const [scope = ""] = id.toLowerCase().split("/providers/microsoft.authorization/locks/");
      if (scope !== subscription.toLowerCase() && !scope.startsWith(group.id.toLowerCase())) continue;
      const mend = `az lock delete --ids ${id}`;
      if (properties.level === "ReadOnly") yield refused(`a lock makes ${scope} read-only`, mend);
      else yield doubtful(`a lock keeps what is in ${scope} from being deleted: no machine could be replaced`, mend);
    }
  },
};

export const accountQuestions: readonly Question<AzureNeeds>[] = [account, providers, names, locks];
