import type { Condition, PolicyDocument, Statement } from "../../components/aws/policies.ts";

/** A call as IAM sees it. */
export interface Call {
  readonly action: string;
  /** ARN, or `*` for a call that names none. */
  readonly resource: string;
  /** Condition keys with their values. */
  readonly context?: Readonly<Record<string, string>>;
}

/**
 * Whether identity policies allow a call: a deny wins, else one allow is enough (AWS IAM User Guide, "Policy evaluation logic"). It knows
 * the operators that our policies use; any other is an error, so that a condition is never passed over in silence.
 */
export function allows(policies: readonly PolicyDocument[], call: Call): boolean {
  const matching = policies.flatMap(({ Statement }) => Statement).filter((statement) => applies(statement, call));
  return matching.some(({ Effect }) => Effect === "Allow") && !matching.some(({ Effect }) => Effect === "Deny");
}

function applies(statement: Statement, { action, resource, context = {} }: Call): boolean {
  return (
    // Actions are compared without regard to case, resources with it.
    statement.Action.some((pattern) => matches(pattern.toLowerCase(), action.toLowerCase())) &&
    (statement.Resource ?? []).some((pattern) => matches(pattern, resource)) &&
    holds(statement.Condition ?? {}, context)
  );
}

function holds(condition: Condition, context: Readonly<Record<string, string>>): boolean {
  return Object.entries(condition).every(([operator, keys]) =>
    Object.entries(keys).every(([key, wanted]) => {
      const values = typeof wanted === "string" ? [wanted] : wanted;
      const actual = context[key];
      switch (operator) {
        case "StringEquals":
          return actual !== undefined && values.includes(actual);
        case "Bool":
          return actual !== undefined && values.includes(actual);
        case "ArnLike":
        case "StringLike":
          return actual !== undefined && values.some((pattern) => matches(pattern, actual));
        default:
          throw new Error(`the evaluator does not know the condition operator ${operator}`);
      }
    }),
  );
}

/** IAM's wildcards: `*` any characters, `?` one. */
export function matches(pattern: string, text: string): boolean {
  const parts = pattern
    .replaceAll(/[.+^${}()|[\]\\]/g, "\\$&")
    .replaceAll("*", ".*")
    .replaceAll("?", ".");
  return new RegExp(`^${parts}$`, "s").test(text);
}
