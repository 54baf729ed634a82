import { aws } from "./aws.ts";
import { azure } from "./azure.ts";
import type { CloudFacts } from "./facts.ts";

export const cloudFacts: Readonly<Record<CloudFacts["name"], CloudFacts>> = { aws, azure };
