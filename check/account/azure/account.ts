import { ask, ofMachines } from "../../../components/gates/account/azure/ask.ts";
import { type AzureNeeds, path } from "../../../components/gates/account/azure/needs.ts";
import { doubtful, type Question, refused, some } from "../../../components/gates/account/question.ts";
import type { Asking, Preflight } from "../../../components/gates/account/run.ts";
import { resourcesOfType } from "../../../components/gates/values.ts";
import { within } from "../../../plan/fakes/azureAccess.ts";
import type { RecordedProgram } from "../../../plan/program/recorded.ts";
import { sharedQuestions } from "../shared.ts";
import { type Recorded, rightsQuestions } from "./rights.ts";

export const accountQuestions: readonly Question<AzureNeeds>[] = [
  {
    // Subscription and location are usable.
    id: "account",
    async *run({ subscription, region, accountId, greeting: [right, greeting] }, ask) {
      const found = await ask(right, greeting, /^(SubscriptionNotFound|InvalidSubscriptionId)$/);
      if (found.isNone) {
        yield refused(
          `this identity sees no subscription ${accountId}`,
          "set fenestra:accountId, or az login --tenant with that of the subscription",
        );
        return;
      }
      const state = found.text("state");
      if (state !== "Enabled")
        yield refused(`the subscription is ${state}`, "reactivate it: portal, Subscriptions, Reactivate");
      const offer = found.text("subscriptionPolicies.quotaId", "");
      if (/FreeTrial|Student|Sponsored/i.test(offer) || found.text("subscriptionPolicies.spendingLimit", "") === "On")
        yield doubtful(
          `the offer ${offer} has low quotas, and they are not raised`,
          "upgrade it to pay-as-you-go: portal, Subscriptions, Upgrade",
        );
      const locations = await ask(
        "Microsoft.Resources/subscriptions/locations/read",
        path(`${subscription}/locations`, "2022-12-01"),
      );
      const names = locations.list("value").map((each) => each.text("name"));
      if (!names.includes(region))
        yield refused(`the subscription has no location ${region}`, `set fenestra:region to one of ${some(names)}`);
    },
  },
  {
    // Resource providers of all types that the program makes: azure-native registers none.
    id: "providers",
    async *run({ program, subscription }, ask) {
      const needed = program.resources.flatMap(({ id = "", type }) =>
        type.startsWith("azure-native:") ? [...id.matchAll(/\/providers\/([^/]+)/g)].map(([, name = ""]) => name) : [],
      );
      const found = await ask(
        "Microsoft.Resources/subscriptions/providers/read",
        path(`${subscription}/providers`, "2021-04-01"),
      );
      const registered = found
        .list("value")
        .filter((each) => each.text("registrationState") === "Registered")
        .map((each) => each.text("namespace").toLowerCase());
      const missing = [...new Set(needed)].filter((name) => !registered.includes(name.toLowerCase()));
      if (missing.length > 0)
        yield refused(
          `resource providers are not registered: ${missing.join(", ")}`,
          missing.map((name) => `az provider register --wait --namespace ${name}`).join(" && "),
        );
    },
  },
  {
    // The resource group, by which all in it is named, is free or the cluster's own.
    id: "names",
    async *run({ group, cluster, asker }, ask) {
      if (!group.isMade) return;
      const right = "Microsoft.Resources/subscriptions/resourceGroups/read";
      const found = await ask(right, path(group.id, "2021-04-01"), /NotFound$/);
      const name = group.id.split("/").at(-1);
      const isOfName = !found.isNone && found.text("tags.fenestra:cluster", "") === cluster;
      if (isOfName && asker.first === true)
        yield refused(
          `the resource group ${name} is of a cluster ${cluster}, and this stack has nothing`,
          "another fenestra:name; another stack's cluster goes by that stack alone",
        );
      if (!found.isNone && !isOfName)
        yield refused(
          `the resource group ${found.text("name")} exists and is not this cluster's`,
          `choose another fenestra:name, or az group delete --name ${name} where nobody needs it`,
        );
    },
  },
  {
    // Locks stop updates (ReadOnly) and pulumi destroy (CanNotDelete); deny assignments are somebody else's.
    id: "locks",
    async *run({ subscription, group }, ask) {
      const own = (scope: string): boolean => scope === subscription.toLowerCase() || within(scope, group.id);
      for (const [kind, version] of [
        ["locks", "2016-09-01"],
        ["denyAssignments", "2022-04-01"],
      ] as const) {
        const at = path(`${subscription}/providers/Microsoft.Authorization/${kind}`, version);
        for (const each of (await ask(`Microsoft.Authorization/${kind}/read`, at)).list("value")) {
          const id = each.text("id");
          const [scope = ""] = id.toLowerCase().split("/providers/microsoft.authorization/");
          const mend = `az lock delete --ids ${id}`;
          if (!own(scope)) continue;
          if (kind === "denyAssignments")
            yield doubtful(
              `a deny assignment holds in ${scope}: ${each.text("properties.denyAssignmentName", id)}`,
              `ask whoever made it: az rest --url ${at}`,
            );
          else if (each.text("properties.level") === "ReadOnly") yield refused(`a lock makes ${scope} read-only`, mend);
          else
            yield doubtful(`a lock keeps what is in ${scope} from being deleted: no machine could be replaced`, mend);
        }
      }
    },
  },
  {
    // Subnets that exist already: there, with room, and with a way out.
    id: "existing-network",
    async *run({ program, machines }, ask) {
      const needed = machines.reduce((all, { count, surge }) => all + count + surge, 0);
      for (const { name, read: id } of resourcesOfType(program, "azure-native:network:Subnet")) {
        if (id === undefined) continue;
        const right = "Microsoft.Network/virtualNetworks/subnets/read";
        const found = await ask(right, path(id, "2024-05-01"), /NotFound$/);
        const mend = "another one in fenestra:network existing.subnets";
        if (found.isNone) {
          yield refused(`there is no subnet ${id}`, mend);
          continue;
        }
        const prefixes = found.texts("properties.addressPrefixes");
        const ranges = prefixes.length > 0 ? prefixes : [found.text("properties.addressPrefix")];
        // Azure keeps five addresses of each.
        const free = ranges
          .filter((range) => !range.includes(":"))
          .reduce(
            (all, range) => all + 2 ** (32 - Number(range.split("/")[1])) - 5,
            -found.list("properties.ipConfigurations", []).length,
          );
        if (/-private-/.test(name) && free < needed)
          yield doubtful(
            `the subnet ${id} has ${free} free addresses, and ${needed} machines are needed with surge`,
            mend,
          );
        const ways = ["natGateway", "routeTable"].filter((way) => found.text(`properties.${way}.id`, "") !== "");
        if (ways.length === 0)
          yield doubtful(
            `the subnet ${id} has neither a NAT gateway nor a route table`,
            `az network vnet subnet update --ids ${id} --nat-gateway ID`,
          );
      }
    },
  },
];

export const questions: readonly Question<Recorded>[] = [
  ...sharedQuestions,
  ...accountQuestions,
  ...ofMachines,
  ...rightsQuestions,
];

export const askCloud = async (asking: Asking<RecordedProgram>): Promise<Preflight> => await ask(asking, questions);
