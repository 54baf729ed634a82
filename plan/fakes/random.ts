import { mapOf, type PropertyMap, Secret } from "../../components/gates/resources.ts";
import { bytes, characters, uuid } from "./identifiers.ts";
import type { SimulatedProvider } from "./provider.ts";

const lower = "abcdefghijklmnopqrstuvwxyz";
const upper = lower.toUpperCase();
const digits = "0123456789";
/** Special characters of `random_password` by default (Terraform provider random). */
const special = "!@#$%&*()-_=+[]{}<>:?";

/** The provider `random`: values follow from URN and keepers. */
export const randomResource: SimulatedProvider = ({ type, urn, inputs }) => {
  const seed = `${urn}${JSON.stringify(mapOf(inputs.keepers))}`;
  switch (type) {
    case "random:index/randomString:RandomString": {
      const result = characters(lengthOf(inputs), alphabet(inputs), seed);
      return { id: result, outputs: { result } };
    }
    case "random:index/randomPassword:RandomPassword":
      return {
        id: "none",
        outputs: {
          result: new Secret(characters(lengthOf(inputs), alphabet(inputs), seed)),
          bcryptHash: new Secret(`$2a$10$${characters(53, lower + upper + digits, seed, "bcrypt")}`),
        },
      };
    case "random:index/randomBytes:RandomBytes": {
      const value = bytes(lengthOf(inputs), seed);
      return {
        id: "none",
        outputs: { base64: new Secret(value.toString("base64")), hex: new Secret(value.toString("hex")) },
      };
    }
    case "random:index/randomUuid:RandomUuid": {
      const result = uuid(seed);
      return { id: result, outputs: { result } };
    }
    default:
      throw new Error(`no simulation of ${type}`);
  }
};

function lengthOf(inputs: PropertyMap): number {
  if (typeof inputs.length !== "number") throw new Error("a random value needs a length");
  return inputs.length;
}

function alphabet(inputs: PropertyMap): string {
  const extra = typeof inputs.overrideSpecial === "string" ? inputs.overrideSpecial : special;
  return [
    inputs.lower === false ? "" : lower,
    inputs.upper === false ? "" : upper,
    inputs.numeric === false || inputs.number === false ? "" : digits,
    inputs.special === false ? "" : extra,
  ].join("");
}
