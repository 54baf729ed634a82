import { describeRandomRuns } from "./randomRuns.ts";

describeRandomRuns(10);
