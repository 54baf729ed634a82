import type { AzureRequest, SimulatedAccount, SimulatedVault } from "../../../plan/fakes/azureAccess.ts";
import type { AzureHost } from "../../../plan/fakes/azureMachines.ts";
import type { CloudCall } from "../calls.ts";
import type { CloudFaults } from "../cloud.ts";
import type { TokenIssuer } from "./tokens.ts";

/** A secret of a simulated vault. */
export interface StoredValue {
  value: string;
  /** Grows with each write. */
  version: number;
}

/** What the simulated endpoints of Azure work on. */
export interface AzureCloud {
  readonly hostAt: (address: string) => AzureHost | undefined;
  /** All machines that there are now. */
  readonly hosts: () => Iterable<AzureHost>;
  /** Scale sets by id in lower case: size and version, since the first change of it. */
  readonly sets: Map<string, { readonly capacity: number; readonly etag: number }>;
  /** Machines that are being deleted, by id in lower case. */
  readonly deleting: Set<string>;
  /** Begins to delete an instance of a scale set: it is told, and gone some time later. */
  readonly end: (host: AzureHost) => void;
  /** When a machine was made. */
  readonly madeAt: (host: AzureHost) => Date;
  readonly faults: CloudFaults;
  readonly tokens: TokenIssuer;
  /** Whether an identity's roles allow a call. */
  readonly authorize: (principalId: string, request: AzureRequest) => boolean;
  readonly vaults: readonly SimulatedVault[];
  /** Secrets by their URL without version. */
  readonly secrets: Map<string, StoredValue>;
  readonly accounts: readonly SimulatedAccount[];
  /** Blobs by `<server>/<container>/<name>`. */
  readonly blobs: Map<string, Buffer>;
  /** Every call, in order. */
  readonly calls: CloudCall[];
}

/** A call of a machine whose token was right. */
export interface AzureCaller {
  readonly host: AzureHost;
  /** Whether the roles allow it; recorded either way. */
  readonly allowed: (request: AzureRequest) => boolean;
}
