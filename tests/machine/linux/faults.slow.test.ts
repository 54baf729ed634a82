import { describeFaults } from "./faults.ts";

describeFaults(151);
