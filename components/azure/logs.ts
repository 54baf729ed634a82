import { type LogSettings, logsAccount } from "../model/addOns.ts";
import type { AddOnGrant } from "./workloadIdentity.ts";

/**
 * The right to write to a data collection rule, and to nothing else. The rule itself is the user's: the API version that the provider has
 * knows no rule for OTLP (2022-06-01), and the tables it writes to are mostly shared.
 */
export function logGrant({ dataCollectionRule }: NonNullable<LogSettings["azureMonitor"]>): AddOnGrant {
  return { account: logsAccount, roles: [{ role: "monitoringMetricsPublisher", scope: dataCollectionRule }] };
}
