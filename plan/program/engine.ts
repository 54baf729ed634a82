import type { LogRequest } from "@pulumi/pulumi/proto/engine_pb.js";
import type {
  ReadResourceRequest,
  RegisterResourceOutputsRequest,
  RegisterResourceRequest,
} from "@pulumi/pulumi/proto/resource_pb.js";
import type { ErrorHook, ResourceHook } from "@pulumi/pulumi/resource.js";
import type { ICallbackServer } from "@pulumi/pulumi/runtime/callbacks.js";
import * as runtime from "@pulumi/pulumi/runtime/index.js";
import state from "@pulumi/pulumi/runtime/state.js";
import { mapFromWire, type PropertyMap, Secret, toWire } from "../../components/gates/values.ts";
import {
  existingRequest,
  type ProgramPlace,
  type RecordedMessage,
  type RecordedProgram,
  type RecordedResource,
  type ResourceRequest,
  readRequest,
  stackType,
} from "./recorded.ts";

export interface SimulatedResource {
  /** Empty while it is not known. */
  readonly id: string;
  /** Outputs win over an input of the same name. */
  readonly outputs: PropertyMap;
}

/** It may remember what it made: each run needs a new one. */
export type SimulatedCloud = (request: ResourceRequest) => SimulatedResource;

/** What a program knows: nothing in a first preview, all in an update, or what the simulated cloud says. */
export type OutputMode = "unknown-outputs" | "known-outputs" | "next-preview";

/** A registered hook, which never runs by itself. */
export type RecordedHook = ResourceHook | ErrorHook;

/** Without 0, debug: the SDK talking to itself. */
const severities: Readonly<Record<number, RecordedMessage["severity"]>> = { 1: "info", 2: "warning", 3: "error" };

type ReadResponse = ReturnType<typeof known>;

interface RegisterResponse extends ReadResponse {
  getId(): string;
  getPropertydependenciesMap(): undefined;
  getResult(): number;
}

type Callback<T> = (error: Error | null, response: T) => void;

function answerOrFail<T>(callback: Callback<T | undefined>, answer: () => T): void {
  try {
    callback(null, answer());
  } catch (error) {
    callback(error instanceof Error ? error : new Error(String(error)), undefined);
  }
}

/** What the SDK takes: the object of a new resource, the properties of one that was read. */
function known(urn: string, outputs: PropertyMap) {
  const wire = { toJavaScript: () => toWire(outputs) };
  return { getUrn: () => urn, getObject: () => wire, getProperties: () => wire, getUnknown: () => false };
}

/**
 * Records what the program says and answers as the simulated cloud does. Beyond the SDK's mocks it has options of
 * resources, hooks, and the log.
 */
export class RecordingEngine {
  readonly place: ProgramPlace;
  readonly mode: OutputMode;
  readonly hooks = new Map<string, RecordedHook>();
  readonly #simulate: SimulatedCloud;
  readonly #resources = new Map<string, RecordedResource>();
  readonly #messages: RecordedMessage[] = [];

  constructor(place: ProgramPlace, mode: OutputMode, simulate: SimulatedCloud) {
    this.place = place;
    this.mode = mode;
    this.#simulate = simulate;
  }

  recorded(): RecordedProgram {
    const resources = [...this.#resources.values()];
    const stack = resources.find(({ type }) => type === stackType);
    return { stack: this.place.stack, resources, outputs: stack?.outputs ?? {}, messages: [...this.#messages] };
  }

  /** Methods in place of the mock monitor's own. */
  monitorMethods(): object {
    return {
      registerResource: (request: RegisterResourceRequest, callback: Callback<RegisterResponse | undefined>) =>
        this.#registerResource(request, callback),
      readResource: (request: ReadResourceRequest, callback: Callback<ReadResponse | undefined>) =>
        this.#readResource(request, callback),
      registerResourceOutputs: (request: RegisterResourceOutputsRequest, callback: Callback<object>) => {
        this.#registerOutputs(request.getUrn(), request.getOutputs()?.toJavaScript() ?? {});
        callback(null, {});
      },
      invoke: (request: { getTok(): string }, callback: Callback<undefined>) => {
        const details = `the program calls ${request.getTok()}: a plan has no cloud to ask, so the program makes no calls`;
        // The SDK shows the details of a gRPC error, and not its message.
        callback(Object.assign(new Error(details), { details }), undefined);
      },
    };
  }

  engineMethods(): object {
    return {
      log: (request: LogRequest, callback: () => void) => {
        const urn = request.getUrn();
        const severity = severities[request.getSeverity()];
        if (severity !== undefined)
          this.#messages.push({ severity, text: request.getMessage(), urn: urn === "" ? undefined : urn });
        callback();
      },
      setRootResource: (_: object, callback: Callback<object>) => callback(null, {}),
    };
  }

  /** Takes hooks without the SDK's gRPC server: a plan opens no port. */
  callbackServer(): ICallbackServer {
    const refuse = (what: string): never => {
      throw new Error(`the program uses ${what}, which a recorded run does not carry out`);
    };
    const keep = async (hook: RecordedHook): Promise<void> => {
      this.hooks.set(hook.name, hook);
    };
    return {
      registerResourceHook: keep,
      registerErrorHook: keep,
      registerTransform: async () => refuse("transforms"),
      registerStateMigration: async () => refuse("state migrations"),
      registerStackTransform: () => refuse("stack transforms"),
      registerStackInvokeTransform: () => refuse("invoke transforms"),
      registerStackInvokeTransformAsync: async () => refuse("invoke transforms"),
      awaitStackRegistrations: async () => {},
      shutdown: () => {},
    };
  }

  #registerResource(request: RegisterResourceRequest, callback: Callback<RegisterResponse | undefined>): void {
    answerOrFail(callback, () => {
      const read = readRequest(this.place, request);
      if (this.#resources.has(read.urn)) throw new Error(`two resources have the URN ${read.urn}`);
      const { id, outputs } = this.#answer(read);
      this.#resources.set(read.urn, { ...read, id, outputs });
      const more = { getId: () => id ?? "", getPropertydependenciesMap: () => undefined, getResult: () => 0 };
      return { ...known(read.urn, outputs), ...more };
    });
  }

  /** A resource of others, such as a subnet or a stack: its outputs are known in a preview too. */
  #readResource(request: ReadResourceRequest, callback: Callback<ReadResponse | undefined>): void {
    answerOrFail(callback, () => {
      const read = existingRequest(this.place, request);
      const { id, outputs } = this.#simulate(read);
      this.#resources.set(read.urn, { ...read, id, outputs });
      return known(read.urn, outputs);
    });
  }

  #answer(request: ResourceRequest): { readonly id: string | undefined; readonly outputs: PropertyMap } {
    if (!request.custom) return { id: undefined, outputs: {} };
    // In a preview the engine knows the inputs only.
    if (this.mode === "unknown-outputs") return { id: undefined, outputs: request.inputs };
    const made = this.#simulate(request);
    const outputs: Record<string, PropertyMap[string]> = { ...request.inputs, ...made.outputs };
    for (const name of request.options.additionalSecretOutputs) {
      const value = outputs[name];
      if (value !== undefined && !(value instanceof Secret)) outputs[name] = new Secret(value);
    }
    return { id: made.id, outputs };
  }

  #registerOutputs(urn: string, outputs: object): void {
    const resource = this.#resources.get(urn);
    if (resource !== undefined) this.#resources.set(urn, { ...resource, outputs: mapFromWire(outputs) });
  }
}

/** What the SDK keeps for a run. */
interface RuntimeStore {
  callbacks?: unknown;
  settings: { engine?: unknown };
}

function isRuntimeStore(value: unknown): value is RuntimeStore {
  return typeof value === "object" && value !== null && "settings" in value && typeof value.settings === "object";
}

/**
 * Runs an action with this engine in place of the SDK's mock monitor, with separate state.
 *
 * @throws when the SDK keeps its state elsewhere than version 3.270 does.
 */
export async function connected(engine: RecordingEngine, action: () => Promise<void>): Promise<void> {
  const withLocalStorage: unknown = Reflect.get(state, "withLocalStorage");
  if (typeof withLocalStorage !== "function") throw new Error("the Pulumi SDK has no local storage of its state");
  await withLocalStorage(async () => {
    await connect(engine);
    await action();
  });
}

async function connect(engine: RecordingEngine): Promise<void> {
  const none = () => {
    throw new Error("a recorded run has its own monitor");
  };
  const { project, stack } = engine.place;
  await runtime.setMocks({ newResource: none, call: none }, project, stack, engine.mode !== "known-outputs");
  const store: unknown = globalThis.asyncLocalStorage.getStore();
  const monitor = runtime.getMonitor();
  if (monitor === undefined || !isRuntimeStore(store)) throw new Error("the Pulumi SDK keeps its state elsewhere");
  Object.assign(monitor, engine.monitorMethods());
  const callbacks = engine.callbackServer();
  store.callbacks = callbacks;
  store.settings.engine = engine.engineMethods();
  if (runtime.getCallbacks() !== callbacks) throw new Error("the Pulumi SDK takes its hooks elsewhere");
}
