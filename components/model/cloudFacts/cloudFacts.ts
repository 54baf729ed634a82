import { aws } from "./aws.ts";
import { azure } from "./azure.ts";
import type { CloudFacts } from "./facts.ts";

/** The facts of each cloud. A spec has those of its own. */
export const cloudFacts: Readonly<Record<CloudFacts["name"], CloudFacts>> = { aws, azure };
