// Sees what nothing faster does: configuration files as the code of kubelet and containerd reads them.
import { defaultRelease, minorOf } from "../../components/model/releases.ts";
import { exampleReleases } from "./examples.ts";
import { readConfigs } from "./readConfigs.ts";

readConfigs(exampleReleases.filter((version) => minorOf(version) === minorOf(defaultRelease)));
