import { awsRows } from "./aws.ts";
import { azureRows } from "./azure.ts";
import { kubernetesProvider, kubernetesRow, otherRows } from "./others.ts";
import { type ReplacementRow, row } from "./row.ts";

const rows: Readonly<Record<string, ReplacementRow>> = {
  ...awsRows,
  ...azureRows,
  ...otherRows,
  ...kubernetesProvider,
  // Kept by the engine itself (pulumi/pulumi: pkg/resource/deploy/builtins.go).
  "pulumi:index:Stash": row("pkg/resource/deploy/builtins.go", []),
};

/** What a change of a type of resource does; `undefined` for a type that is not known here, of which anything may be true. */
export function replacementRow(type: string): ReplacementRow | undefined {
  return rows[type] ?? kubernetesRow(type);
}

/** Whether a changed path is at, below or above a declared one: `zones[0]` for `zones`, `launchTemplate` for `launchTemplate.id`. */
export function concerns(changed: string, declared: string): boolean {
  const under = (inner: string, outer: string): boolean =>
    inner === outer || inner.startsWith(`${outer}.`) || inner.startsWith(`${outer}[`);
  return declared === "*" || under(changed, declared) || under(declared, changed);
}
