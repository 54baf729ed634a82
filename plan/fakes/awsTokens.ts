import { type RecordedProgram, resourcesOfType } from "../program/recorded.ts";
import { listOf, textOf } from "../program/values.ts";
import { trustSchema } from "./awsAccess.ts";
import { storedObjects } from "./awsObjects.ts";
import { allows, trusts } from "./iam.ts";
import { issuerOf, verifiedClaims } from "./tokens.ts";

/**
 * An object of S3 that everybody may read by HTTPS: the bucket's policy says so, and its block of public access lets it.
 *
 * @throws Error for a public policy in a bucket that blocks such: S3 refuses to store it (PutBucketPolicy, "AccessDenied")
 */
export function publicObject(program: RecordedProgram, url: string): string | undefined {
  const { host, pathname } = new URL(url);
  const bucket = resourcesOfType(program, "aws:s3/bucket:Bucket").find(({ outputs }) => textOf(outputs.bucketRegionalDomainName) === host);
  const name = textOf(bucket?.outputs.bucket);
  const policies = resourcesOfType(program, "aws:s3/bucketPolicy:BucketPolicy")
    .filter(({ inputs }) => textOf(inputs.bucket) === name)
    .map(({ inputs }) => trustSchema.parse(JSON.parse(textOf(inputs.policy) ?? "{}")));
  const isPublic = policies.some(({ Statement }) => Statement.some(({ Effect, Principal }) => Effect === "Allow" && Principal === "*"));
  const block = resourcesOfType(program, "aws:s3/bucketPublicAccessBlock:BucketPublicAccessBlock").find(
    ({ inputs }) => textOf(inputs.bucket) === name,
  );
  // New buckets block everything (Amazon S3 User Guide, "Blocking public access", since April 2023).
  if (isPublic && block?.inputs.blockPublicPolicy !== false)
    throw new Error(`AccessDenied: the bucket ${name} blocks public policies and has one`);
  const call = {
    action: "s3:GetObject",
    resource: `${textOf(bucket?.outputs.arn)}${pathname}`,
    context: { "aws:SecureTransport": "true" },
  };
  return allows(policies, call) ? storedObjects(program).get(`${name}${pathname}`)?.toString() : undefined;
}

/**
 * Names of the roles that a token may be exchanged for, as STS decides (AWS STS API reference, AssumeRoleWithWebIdentity): the issuer is an
 * OIDC provider of the account, the token is signed by its published keys for an audience of the provider, and the role's trust policy
 * agrees.
 */
export async function rolesFor(program: RecordedProgram, token: string): Promise<readonly string[]> {
  const issuer = issuerOf(token);
  const provider = resourcesOfType(program, "aws:iam/openIdConnectProvider:OpenIdConnectProvider").find(
    ({ inputs }) => textOf(inputs.url) === issuer,
  );
  const [audience] = listOf(provider?.inputs.clientIdLists).map(textOf);
  if (issuer === undefined || provider === undefined || audience === undefined)
    throw new Error(`InvalidIdentityToken: no OpenIDConnect provider found in your account for ${issuer}`);
  const { sub = "" } = await verifiedClaims(token, {
    issuer,
    audience,
    algorithms: ["RS256", "ES256"],
    read: (url) => publicObject(program, url),
  });
  const claims = issuer.replace("https://", "");
  const context = { [`${claims}:sub`]: sub, [`${claims}:aud`]: audience };
  return resourcesOfType(program, "aws:iam/role:Role")
    .filter(({ inputs }) => {
      const { Statement } = trustSchema.parse(JSON.parse(textOf(inputs.assumeRolePolicy) ?? "{}"));
      return trusts(Statement, { Federated: textOf(provider.outputs.arn) ?? "" }, context);
    })
    .map(({ name }) => name);
}
