import { exampleReleases } from "./examples.ts";
import { readConfigs } from "./readConfigs.ts";

readConfigs(exampleReleases);
