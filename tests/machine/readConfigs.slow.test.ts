import { defaultRelease, minorOf } from "../../components/model/releases.ts";
import { readConfigs } from "./readConfigs.ts";
import { exampleReleases } from "./windows/examples.ts";

readConfigs(exampleReleases.filter((version) => minorOf(version) === minorOf(defaultRelease)));
