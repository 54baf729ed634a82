import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { Readable, Writable } from "node:stream";
import { z } from "zod";

/** A message of the browser: an answer has `id`, an event has `method`. */
const messageSchema = z.looseObject({
  id: z.number().optional(),
  method: z.string().optional(),
  sessionId: z.string().optional(),
  params: z.looseObject({}).optional(),
  result: z.looseObject({}).optional(),
  error: z.looseObject({ message: z.string() }).optional(),
});
type Message = z.output<typeof messageSchema>;
type Parameters = Readonly<Record<string, unknown>>;

/** Path of a Chromium on this machine. `undefined` when there is none. */
export function findChromium(): string | undefined {
  return ["chromium", "chromium-browser", "google-chrome"].find((name) => spawnSync(name, ["--version"]).status === 0);
}

/** A headless Chromium with one page, driven by the DevTools protocol over a pipe: no port, no package. */
export class Browser {
  /** What the page wrote to its console as an error, threw, or was refused. */
  readonly errors: string[] = [];
  readonly #process: ChildProcess;
  readonly #profile: string;
  readonly #to: Writable;
  readonly #waiting = new Map<number, (message: Message) => void>();
  readonly #events = new Map<string, () => void>();
  #last = 0;
  #session: string | undefined;

  private constructor(program: string) {
    this.#profile = mkdtempSync(path.join(tmpdir(), "fenestra-browser-"));
    const options = [
      "--headless",
      "--no-sandbox",
      "--disable-gpu",
      "--disable-dev-shm-usage",
      "--window-size=1280,1600",
    ];
    this.#process = spawn(program, [...options, `--user-data-dir=${this.#profile}`, "--remote-debugging-pipe"], {
      stdio: ["ignore", "ignore", "ignore", "pipe", "pipe"],
    });
    const [, , , to, from] = this.#process.stdio;
    if (!(to instanceof Writable) || !(from instanceof Readable)) throw new Error("the browser has no pipe");
    this.#to = to;
    let text = "";
    from.setEncoding("utf8").on("data", (chunk: string) => {
      const parts = (text + chunk).split("\0");
      text = parts.pop() ?? "";
      for (const part of parts) this.#take(messageSchema.parse(JSON.parse(part)));
    });
  }

  /** Starts a browser and opens an empty page of 1280 by 1600 pixels. */
  static async start(program: string): Promise<Browser> {
    const browser = new Browser(program);
    try {
      const { targetId } = await browser.send("Target.createTarget", { url: "about:blank" });
      const { sessionId } = await browser.send("Target.attachToTarget", { targetId, flatten: true });
      browser.#session = z.string().parse(sessionId);
      for (const domain of ["Page", "Runtime", "Log"]) await browser.send(`${domain}.enable`);
    } catch (error) {
      await browser.stop();
      throw error;
    }
    return browser;
  }

  /** Calls a method of the protocol. Throws what the browser answers as an error. */
  async send(method: string, params: Parameters = {}): Promise<Parameters> {
    const id = ++this.#last;
    const { promise, resolve } = Promise.withResolvers<Message>();
    this.#waiting.set(id, resolve);
    const session = this.#session === undefined ? {} : { sessionId: this.#session };
    this.#to.write(`${JSON.stringify({ id, method, params, ...session })}\0`);
    const { error, result = {} } = await promise;
    if (error !== undefined) throw new Error(`${method}: ${error.message}`);
    return result;
  }

  /** Opens a URL and waits until it is loaded. */
  async open(url: string): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#events.set("Page.loadEventFired", resolve);
    await this.send("Page.navigate", { url });
    await promise;
  }

  /** Value of an expression in the page. */
  async evaluate(expression: string): Promise<unknown> {
    const { result, exceptionDetails } = await this.send("Runtime.evaluate", { expression, returnByValue: true });
    if (exceptionDetails !== undefined) throw new Error(JSON.stringify(exceptionDetails));
    return z.looseObject({ value: z.unknown().optional() }).parse(result).value;
  }

  /** Presses a key as a keyboard does; `text` is what it types. */
  async press(key: string, code: string, keyCode: number, text = ""): Promise<void> {
    const press = { key, code, windowsVirtualKeyCode: keyCode };
    await this.send("Input.dispatchKeyEvent", { type: text === "" ? "rawKeyDown" : "keyDown", text, ...press });
    await this.send("Input.dispatchKeyEvent", { type: "keyUp", ...press });
  }

  /** Ends the browser and removes its profile. */
  async stop(): Promise<void> {
    const ended = new Promise((resolve) => this.#process.once("exit", resolve));
    this.#process.kill("SIGKILL");
    await ended;
    rmSync(this.#profile, { recursive: true, force: true, maxRetries: 10, retryDelay: 100 });
  }

  #take(message: Message): void {
    const { id, method, params } = message;
    if (id !== undefined) this.#waiting.get(id)?.(message);
    if (method === undefined) return;
    this.#events.get(method)?.();
    const isError =
      method === "Runtime.exceptionThrown" ||
      (method === "Runtime.consoleAPICalled" && params?.type === "error") ||
      (method === "Log.entryAdded" && JSON.stringify(params).includes('"level":"error"'));
    if (isError) this.errors.push(JSON.stringify(params));
  }
}
