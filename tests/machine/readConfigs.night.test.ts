// Sees what nothing faster does: files as kubelets of the other minors read them, minutes to build.
import { exampleReleases } from "./examples.ts";
import { readConfigs } from "./readConfigs.ts";

readConfigs(exampleReleases);
