import { z } from "zod";
import { described, matching, section } from "./forms.ts";

/** A number of machines, or percent of the pool. */
const amount = z.union([
  z.int().min(0).max(1000),
  matching(/^(\d|[1-9]\d|100)%$/, "is not a percentage").meta({ patternErrorMessage: "0% to 100%", examples: ["10%"] }),
]);

/** How the machines of a pool are replaced by newer ones. */
export const updateFields = {
  update: section("How many machines of the pool are replaced at a time. Default one, or a tenth of a pool of more than ten.", {
    maxSurge: described(
      amount.default("10%"),
      "Machines beyond those wanted while a changed pool is rolled, a number or percent; of percents at least one.",
    ),
    maxUnavailable: described(
      amount.default(0),
      "AWS: machines that may be missing meanwhile, a number or percent. Azure deletes none before its successor is healthy.",
    ),
  }).optional(),
  maxAge: described(
    z.int().min(1).max(365).optional(),
    "AWS: days after which a machine is replaced, whatever its pool is. So image: latest brings new images without a changed program. Azure replaces machines of a changed pool only.",
  ),
};
