export interface PolicyStatement {
  readonly Effect: "Allow" | "Deny";
  readonly Action: readonly string[];
  /** Absent in trust policies only. */
  readonly Resource?: readonly string[] | undefined;
  /** Operator, condition key, values. */
  readonly Condition?: Readonly<Record<string, Readonly<Record<string, string | readonly string[]>>>> | undefined;
}

export interface Call {
  /** `ssm:GetParameter`. */
  readonly action: string;
  /** ARN of what is touched, or `*` for a call that names nothing. */
  readonly resource: string;
  /** `kms:EncryptionContext:PARAMETER_ARN`. */
  readonly context?: Readonly<Record<string, string>>;
}

/**
 * A matching Deny wins, else one Allow is needed (AWS IAM User Guide, "Policy evaluation logic"). Unknown operators
 * are errors.
 */
export function allows(policies: readonly { readonly Statement: readonly PolicyStatement[] }[], call: Call): boolean {
  const { action, resource, context = {} } = call;
  const onIt = ({ Resource = [] }: PolicyStatement): boolean => Resource.some((pattern) => matches(pattern, resource));
  return decide(
    policies.flatMap(({ Statement }) => Statement).filter((each) => takes(each, action, context) && onIt(each)),
  );
}

function decide(matching: readonly PolicyStatement[]): boolean {
  return matching.length > 0 && matching.every(({ Effect }) => Effect === "Allow");
}

function takes(statement: PolicyStatement, action: string, context: Readonly<Record<string, string>>): boolean {
  const found = new Map(Object.entries(context).map(([key, value]) => [key.toLowerCase(), value]));
  return (
    // Only resources are compared with regard to case.
    statement.Action.some((pattern) => matches(pattern.toLowerCase(), action.toLowerCase())) &&
    Object.entries(statement.Condition ?? {}).every(([operator, keys]) =>
      Object.entries(keys).every(([key, wanted]) => holds(operator, [wanted].flat(), found.get(key.toLowerCase()))),
    )
  );
}

function holds(operator: string, wanted: readonly string[], found: string | undefined): boolean {
  switch (operator) {
    case "StringEquals":
    case "Bool":
      return found !== undefined && wanted.includes(found);
    case "StringNotEquals":
      return found === undefined || !wanted.includes(found);
    // A call here has one value.
    case "ForAnyValue:StringNotEquals":
      return found !== undefined && !wanted.includes(found);
    case "Null":
      return wanted.includes(String(found === undefined));
    // True without the key, too (IAM User Guide, "Set operators for multivalued context keys").
    case "ForAllValues:StringEquals":
      return found === undefined || wanted.includes(found);
    case "ArnLike":
    case "StringLike":
      return found !== undefined && wanted.some((pattern) => matches(pattern, found));
    default:
      throw new Error(`the evaluator does not know the condition operator ${operator}`);
  }
}

/** IAM's wildcards: `*` any characters, `?` one. */
export function matches(pattern: string, text: string): boolean {
  const parts = pattern
    .replaceAll(/[.+^${}()|[\]\\]/g, "\\$&")
    .replaceAll("*", ".*")
    .replaceAll("?", ".");
  return new RegExp(`^${parts}$`, "s").test(text);
}
