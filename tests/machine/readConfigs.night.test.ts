import { readConfigs } from "./readConfigs.ts";
import { exampleReleases } from "./windows/examples.ts";

readConfigs(exampleReleases);
