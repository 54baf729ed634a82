import type { Needs } from "../../components/gates/account/needs.ts";
import { doubtful, notAsked, type Question, refused } from "../../components/gates/account/question.ts";
import { cidr, contains } from "../../components/model/cidr.ts";

const inside = (networks: readonly string[], address: string): boolean =>
  networks.some((network) => contains(cidr(network), cidr(`${address}/32`)));

export const sharedQuestions: readonly Question<Needs>[] = [
  {
    // The update waits for the API to answer whoever deploys.
    id: "reach-api",
    async *run({ publicAccess, privateAccess, asker: { address, local, deployer } }) {
      if (local.some((each) => inside(privateAccess, each))) return;
      if (publicAccess === undefined)
        yield doubtful(
          `the API is inside only, for ${privateAccess.join(", ")}, and this machine has none of these addresses`,
          "deploy from inside, or by a VPN or peering; or set fenestra:access public",
        );
      else if (address === undefined)
        yield notAsked("the address from which the API would be called is not known", "--address ADDRESS");
      else if (!inside(publicAccess, address))
        yield (deployer === undefined ? refused : doubtful)(
          `the API is open to ${publicAccess.join(", ")}; this machine comes from ${address}`,
          `add ${address}/32 to fenestra:access public.allow`,
        );
    },
  },
  {
    // Signatures are good for five minutes (AWS General Reference, "Signing AWS API requests").
    id: "clock",
    async *run({ clock, greeting }, ask) {
      await ask(...greeting);
      const seconds = Math.abs(clock.skewMs) / 1000;
      if (seconds > 60)
        yield (seconds > 240 ? refused : doubtful)(
          `the clock of this machine is ${Math.round(seconds)} s from the cloud's`,
          "timedatectl set-ntp true",
        );
    },
  },
];
