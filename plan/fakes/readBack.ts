import { mapOf, type PropertyMap, type PropertyValue, textOf } from "../../components/gates/values.ts";

/** An input that the program leaves out and the provider's Read finds. */
interface ReadBack {
  readonly field: string;
  readonly source: string;
  /** Whether the state has it from the start, or only after a refresh. */
  readonly from: "create" | "refresh";
  /** What is read, from the inputs of the resource and of others made before. */
  readonly value: (inputs: PropertyMap, inputsOf: (id: string) => PropertyMap) => PropertyValue | undefined;
}

/**
 * By type, what the provider's Read puts into the state for an optional input that is not computed and was not given.
 * The next update removes it from the live resource.
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
