import {
  listOf,
  mapFromWire,
  mapOf,
  type PropertyMap,
  type PropertyValue,
  textOf,
} from "../../components/gates/resources.ts";
import { awsPrefixes } from "../../components/model/cloudFacts/aws.ts";
import { iamLimits, policyLength, regionOfArn } from "../../components/model/cloudFacts/ids.ts";
import { fromJson } from "../../components/model/json.ts";
import type { SimulatedContext } from "./provider.ts";

/** Input with a policy document, its most characters, and the error beyond them. */
const documents: Readonly<Record<string, readonly [input: string, most: number]>> = {
  "iam/policy:Policy": ["policy", iamLimits.managed],
  "iam/rolePolicy:RolePolicy": ["policy", iamLimits.inline],
  "iam/role:Role": ["assumeRolePolicy", iamLimits.trust],
};

const texts = (value: PropertyValue | undefined): readonly string[] =>
  [value ?? [], ...listOf(value)].flatMap((each) => textOf(each) ?? []);

/** @throws Error with AWS's code */
export function requireAwsLimits(kind: string, inputs: PropertyMap, name: string, context: SimulatedContext): void {
  const [beginning] = (awsPrefixes[kind] ?? []).filter((each) => name.toLowerCase().startsWith(each));
  if (beginning !== undefined) throw new Error(`InvalidParameterValue: ${name} begins with ${beginning}`);
  const [key] = [...JSON.stringify(inputs).matchAll(/"kmsKeyId":"([^"]+)"/g)].map(([, arn = ""]) => arn);
  const keyRegion = regionOfArn(key ?? "");
  if (keyRegion !== undefined && keyRegion !== context.place.region)
    throw new Error(`InvalidParameterValue: the key ${key} is not in ${context.place.region}`);
  if (!kind.startsWith("iam/")) return;
  if ((textOf(inputs.path) ?? "").length > iamLimits.path)
    throw new Error(`ValidationError: path has more than ${iamLimits.path} characters`);
  const [provider] = [...context.made()].filter(({ request }) => request.type === "pulumi:providers:aws");
  const common = fromJson(textOf(provider?.request.inputs.defaultTags) ?? "{}");
  const defaults = mapOf(mapFromWire(Object(common)).tags);
  const tags = Object.keys({ ...defaults, ...mapOf(inputs.tags) }).map((each) => each.toLowerCase());
  if (new Set(tags).size < tags.length)
    throw new Error("InvalidInput: Duplicate tag keys found. Please note that Tag keys are case insensitive.");
  const [input, most] = documents[kind] ?? [];
  const text = textOf(inputs[input ?? ""]);
  if (text === undefined || most === undefined) return;
  if (policyLength(text) > most) throw new Error(`LimitExceeded: ${policyLength(text)} of ${most} characters`);
  for (const each of listOf(mapFromWire(Object(fromJson(text))).Statement)) {
    const { Action, Resource } = mapOf(each);
    const wrong = [
      ...texts(Action).filter((one) => !iamLimits.action.test(one)),
      ...texts(Resource).filter((one) => !iamLimits.resource.test(one)),
    ];
    if (wrong.length > 0) throw new Error(`MalformedPolicyDocument: ${wrong.join(", ")}`);
  }
}
