import { mapOf, type PropertyMap, type PropertyValue, textOf } from "../program/values.ts";

/** An input that the program leaves out, and that the provider's Read finds all the same. */
interface ReadBack {
  readonly field: string;
  readonly source: string;
  /** Whether the state has it from the start, or only once it has been read again. */
  readonly from: "create" | "refresh";
  /** What is read, from the inputs of the resource and of others that were made before. */
  readonly value: (inputs: PropertyMap, inputsOf: (id: string) => PropertyMap) => PropertyValue | undefined;
}

/**
 * By type, what the provider's Read puts into the state although the program gave nothing, for inputs that are optional
 * and not computed. The next update compares it with the program's nothing and removes it from the live resource. An
 * input that is also computed makes no difference.
 */
export const readBack: Readonly<Record<string, ReadBack>> = {
  "aws:ec2/instance:Instance": {
    field: "userData",
    source: "terraform-provider-aws, internal/service/ec2/ec2_instance.go: set from DescribeInstanceAttribute; #48795",
    from: "create",
    value: ({ launchTemplate }, inputsOf) => inputsOf(textOf(mapOf(launchTemplate).id) ?? "").userData,
  },
  "aws:ec2/networkInterface:NetworkInterface": {
    field: "enaSrdSpecification",
    source: "EC2 API Reference, NetworkInterfaceAttachment: answered for attached interfaces",
    from: "refresh",
    value: () => ({ enaSrdEnabled: false }),
  },
};
