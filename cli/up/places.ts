import { createHash } from "node:crypto";
import type { Cloud } from "../../components/config/schema.ts";

/** Something that the state needs, made by lines for a shell. */
interface Thing {
  readonly title: string;
  /** Ends with 0 where it is there. */
  readonly look: string;
  readonly make: readonly string[];
  /** Whether a new role has to reach it first, which takes minutes. */
  readonly slow?: boolean;
}

/** Where the state is, and the key of its secrets. */
export interface Place {
  /** As Pulumi takes it: `s3://bucket?region=eu-central-1`. */
  readonly backend: string;
  /** A line that prints the secrets provider, or the provider itself; `undefined` where nothing says it. */
  readonly provider: { readonly value: string } | { readonly line: string } | undefined;
  readonly things: readonly Thing[];
  /** Lines that remove it with every state in it, the state's own place last: without it nothing finds the others. */
  readonly remove: readonly string[];
}

interface Where {
  readonly cloud: Cloud;
  readonly region: string;
  /** Account or subscription. */
  readonly account: string;
}

/** Prints the account. */
export const accountLine: Readonly<Record<Cloud, string>> = {
  aws: "aws sts get-caller-identity --query Account --output text",
  azure: "az account show --query id --output tsv",
};

/** Each cloud's own package of Pulumi, which the other cloud's stacks do not need. */
export const ownPackages: Readonly<Record<Cloud, string>> = { aws: "aws", azure: "azure-native" };

/** The place that a cloud's account gets once; several stacks share it. */
export function ownPlace(where: Where): Place {
  return where.cloud === "aws" ? awsPlace(where) : azurePlace(where);
}

const isText = (command: string, text: string): string => `test "$(${command})" = '${text}'`;

function awsPlace({ region, account }: Where): Place {
  const bucket = `fenestra-state-${account}-${region}`;
  const alias = "alias/fenestra-state";
  // S3 refuses to have its oldest region named.
  const there = region === "us-east-1" ? "" : ` --create-bucket-configuration LocationConstraint=${region}`;
  const s3 = (verb: string, more = ""): string => `aws s3api ${verb} --bucket ${bucket} --region ${region}${more}`;
  const kms = (verb: string, more: string) => `aws kms ${verb} --region ${region} ${more}`;
  const key = (field: string) => kms("describe-key", `--key-id ${alias} --query KeyMetadata.${field} --output text`);
  const blocked = ["BlockPublicAcls", "IgnorePublicAcls", "BlockPublicPolicy", "RestrictPublicBuckets"];
  return {
    backend: `s3://${bucket}?region=${region}`,
    provider: { value: `awskms://${alias}?region=${region}` },
    things: [
      { title: `bucket ${bucket}`, look: s3("head-bucket"), make: [s3("create-bucket", there)] },
      {
        title: "its earlier versions",
        look: isText(s3("get-bucket-versioning", " --query Status --output text"), "Enabled"),
        make: [s3("put-bucket-versioning", " --versioning-configuration Status=Enabled")],
      },
      {
        title: "no public access",
        look: isText(
          s3("get-public-access-block", " --query 'length(values(PublicAccessBlockConfiguration)[?@])' --output text"),
          String(blocked.length),
        ),
        make: [
          s3(
            "put-public-access-block",
            ` --public-access-block-configuration ${blocked.map((name) => `${name}=true`).join(",")}`,
          ),
        ],
      },
      {
        title: `key ${alias} of its secrets`,
        look: isText(key("KeyState"), "Enabled"),
        make: [
          kms(
            "create-alias",
            `--alias-name ${alias} --target-key-id "$(${kms("create-key", `--description 'Pulumi secrets' --query KeyMetadata.KeyId --output text`)})"`,
          ),
        ],
      },
    ],
    remove: [
      kms("schedule-key-deletion", `--pending-window-in-days 7 --key-id "$(${key("KeyId")})"`),
      kms("delete-alias", `--alias-name ${alias}`),
      `for list in Versions DeleteMarkers; do while objects="$(${s3("list-object-versions", ` --max-items 500 --query "{Objects: $list[].{Key: Key, VersionId: VersionId}}" --output json`)})" && [[ $objects == *VersionId* ]]; do ${s3("delete-objects", ' --delete "$objects"')}; done; done`,
      s3("delete-bucket"),
    ],
  };
}

/** A role of who is signed in, where Azure gives none to who makes a thing. */
function ownRole(name: string, scope: string, at: string): Thing {
  const me = "$(az ad signed-in-user show --query id --output tsv)";
  return {
    title: `your role ${name}`,
    look: `test "$(az role assignment list --assignee "${me}" --role '${name}' --scope "${scope}" ${at} --query 'length(@)' --output tsv)" -gt 0`,
    make: [
      `az role assignment create --role '${name}' --assignee-object-id "${me}" --assignee-principal-type User --scope "${scope}" ${at}`,
    ],
  };
}

function azurePlace({ region, account }: Where): Place {
  // Unique in all of Azure, and the same in each run.
  const own = createHash("sha256").update(account).digest("hex").slice(0, 9);
  const [group, storage, vault] = ["fenestra-state", `fenestrastate${own}`, `fenestra-state-${own}`];
  const at = `--subscription ${account}`;
  const inGroup = `--resource-group ${group} ${at}`;
  const role = (name: string, kind: string, of: string): Thing =>
    ownRole(name, `$(az ${kind} show --name ${of} ${inGroup} --query id --output tsv)`, at);
  const blobs = `az storage account blob-service-properties`;
  const container = `az storage container`;
  const key = (verb: string, more = ""): string =>
    `az keyvault key ${verb} --vault-name ${vault} --name pulumi ${at}${more}`;
  return {
    backend: `azblob://state?storage_account=${storage}`,
    // With the key's version: without it a rotation takes another key, and every command fails.
    provider: { line: `${key("show", " --query key.kid --output tsv")} | sed 's/^https/azurekeyvault/'` },
    things: [
      {
        title: `resource group ${group}`,
        look: isText(`az group exists --name ${group} ${at} --output tsv`, "true"),
        make: [`az group create --name ${group} --location ${region} ${at}`],
      },
      {
        title: `storage account ${storage}`,
        look: `az storage account show --name ${storage} ${inGroup}`,
        make: [
          `az storage account create --name ${storage} ${inGroup} --allow-blob-public-access false --allow-shared-key-access false --min-tls-version TLS1_2`,
        ],
      },
      {
        title: "its earlier versions",
        look: isText(
          `${blobs} show --account-name ${storage} ${inGroup} --query isVersioningEnabled --output tsv`,
          "true",
        ),
        make: [`${blobs} update --account-name ${storage} ${inGroup} --enable-versioning true`],
      },
      role("Storage Blob Data Contributor", "storage account", storage),
      {
        title: "its container",
        look: isText(
          `${container} exists --name state --account-name ${storage} --auth-mode login ${at} --query exists --output tsv`,
          "true",
        ),
        make: [`${container} create --name state --account-name ${storage} --auth-mode login ${at} --fail-on-exist`],
        slow: true,
      },
      {
        title: `vault ${vault}`,
        look: `az keyvault show --name ${vault} ${inGroup}`,
        make: [`az keyvault create --name ${vault} ${inGroup} --enable-rbac-authorization true`],
      },
      role("Key Vault Crypto Officer", "keyvault", vault),
      { title: "key of its secrets", look: key("show"), make: [key("create", " --kty RSA")], slow: true },
    ],
    remove: [
      `az keyvault delete --name ${vault} ${inGroup}`,
      `az keyvault purge --name ${vault} ${at}`,
      `az group delete --yes --name ${group} ${at}`,
    ],
  };
}
