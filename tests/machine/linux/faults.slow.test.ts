// Sees what nothing faster does: a sample of what each call of each job may be answered; the night tries all.
import { describeFaults } from "./faults.ts";

describeFaults(151);
