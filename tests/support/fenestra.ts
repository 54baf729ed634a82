import { main } from "../../cli/main.ts";

/** Runs the command with these arguments: its exit code and what it wrote. */
export async function fenestra(...args: readonly string[]) {
  const [out, err]: [string[], string[]] = [[], []];
  const code = await main(args, { out: (text) => out.push(text), err: (text) => err.push(text) });
  return { code, out: out.join(""), err: err.join("") };
}
