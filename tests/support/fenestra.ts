import { main } from "../../cli/main.ts";

/** Exit code and output of the command, and what it wrote to in turn. */
export async function fenestra(...args: readonly string[]) {
  const [out, err, order]: [string[], string[], string[]] = [[], [], []];
  const code = await main(args, {
    out: (text) => order.push("out") && out.push(text),
    err: (text) => order.push("err") && err.push(text),
    progress: (doing) => order.push(doing === undefined ? "cleared" : "progress"),
  });
  return { code, out: out.join(""), err: err.join(""), order };
}
