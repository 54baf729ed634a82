import { main } from "../../cli/main.ts";

/** Exit code and output of the command. */
export async function fenestra(...args: readonly string[]) {
  const [out, err]: [string[], string[]] = [[], []];
  const code = await main(args, { out: (text) => out.push(text), err: (text) => err.push(text) });
  return { code, out: out.join(""), err: err.join("") };
}
