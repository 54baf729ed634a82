/** One call to a cloud's API that a machine made, for the checks. */
export interface CloudCall {
  /** Id of the machine. */
  readonly machine: string;
  /** What was asked for, in the cloud's own words: `ssm:GetParameter`, `Microsoft.KeyVault/vaults/secrets/getSecret/action`. */
  readonly action: string;
  /** ARN or resource id of what it was asked on. */
  readonly resource: string;
  /** Whether the rights of the machine's identity allow it. */
  readonly allowed: boolean;
  /** Status of the HTTP answer to the right, before anything else that may be wrong with the call. */
  readonly status: number;
}
