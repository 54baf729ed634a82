import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { Server, ServerCredentials, type ServerUnaryCall, type sendUnaryData, status } from "@grpc/grpc-js";
import plugin from "@pulumi/pulumi/proto/plugin_pb.js";
import services from "@pulumi/pulumi/proto/provider_grpc_pb.js";
import messages from "@pulumi/pulumi/proto/provider_pb.js";
import empty from "google-protobuf/google/protobuf/empty_pb.js";
import struct from "google-protobuf/google/protobuf/struct_pb.js";
import { z } from "zod";
import { mapFromWire, type PropertyMap, toWire } from "../../components/gates/values.ts";
import { messageOf } from "../../components/model/messages.ts";
import {
  type Change,
  difference,
  previewCreate,
  previewUpdate,
  type ServedCloud,
  type Subject,
} from "../support/servedCloud.ts";

type Answered<K extends keyof ServedCloud> = ServedCloud[K] extends (...given: infer Given) => infer Answer
  ? (...given: Given) => Answer | Promise<Answer>
  : never;

/** What providers ask of a cloud, which may take its time. */
export type Providing = Pick<ServedCloud, "configure" | "difference" | "read"> & {
  readonly [K in "create" | "update" | "delete"]: Answered<K>;
};

const servedPackages = ["aws", "azure-native", "tls", "random", "kubernetes"] as const;

export interface ServedProviders {
  readonly ports: ReadonlyMap<string, number>;
  readonly close: () => void;
}

/**
 * Serves each package on a port of the loopback. With PULUMI_DEBUG_PROVIDERS the engine attaches to them in place of
 * starting plug-ins (pulumi/pulumi v3.260.0, sdk/go/common/resource/plugin/provider_plugin.go).
 */
export async function serveProviders(cloud: Providing): Promise<ServedProviders> {
  const servers = servedPackages.map((name) => {
    const server = new Server({ "grpc.max_receive_message_length": -1, "grpc.max_send_message_length": -1 });
    server.addService(services.ResourceProviderService, methods(name, cloud));
    return { name, server };
  });
  const ports = await Promise.all(
    servers.map(async ({ name, server }): Promise<[string, number]> => [name, await listen(server)]),
  );
  return {
    ports: new Map(ports),
    close: () => {
      for (const { server } of servers) server.forceShutdown();
    },
  };
}

function listen(server: Server): Promise<number> {
  return new Promise((resolve, reject) =>
    server.bindAsync("127.0.0.1:0", ServerCredentials.createInsecure(), (error, port) =>
      error === null ? resolve(port) : reject(error),
    ),
  );
}

/** The engine shows an error's message beside the resource. */
function unary<Q, A>(answer: (request: Q) => A | Promise<A>) {
  return async ({ request }: ServerUnaryCall<Q, A>, callback: sendUnaryData<A>) => {
    try {
      callback(null, await answer(request));
    } catch (error) {
      callback({ code: status.UNKNOWN, details: messageOf(error) });
    }
  };
}

interface AboutResource {
  getUrn(): string;
  getType(): string;
  getName(): string;
}

const subjectOf = (request: AboutResource): Subject => ({
  urn: request.getUrn(),
  type: request.getType(),
  name: request.getName(),
});
const read = (properties: struct.Struct | undefined) => mapFromWire(properties?.toJavaScript() ?? {});
const write = (properties: PropertyMap) =>
  struct.Struct.fromJavaScript(
    Object.fromEntries(Object.entries(properties).map(([key, value]) => [key, toWire(value)])),
  );

/** The SDK's declarations of Kubernetes' kinds lie elsewhere, and its outputs are its inputs. */
const declared = (type: string) => !type.startsWith("kubernetes:");

/** The methods that the engine calls; others are UNIMPLEMENTED. */
function methods(packageName: string, cloud: Providing) {
  return {
    handshake: unary((_: messages.ProviderHandshakeRequest) =>
      new messages.ProviderHandshakeResponse().setAcceptSecrets(true),
    ),
    attach: unary((_: plugin.PluginAttach) => new empty.Empty()),
    getPluginInfo: unary((_: empty.Empty) => new plugin.PluginInfo().setVersion(versionOf(packageName))),
    getSchema: unary((_: messages.GetSchemaRequest) =>
      new messages.GetSchemaResponse().setSchema(
        JSON.stringify({ name: packageName, version: versionOf(packageName) }),
      ),
    ),
    checkConfig: unary(checked),
    diffConfig: unary((request: messages.DiffRequest) => {
      return different(difference({ ...questionOf(request), type: request.getType() }).changes);
    }),
    configure: unary((request: messages.ConfigureRequest) => {
      cloud.configure(packageName, read(request.getArgs()));
      return new messages.ConfigureResponse().setAcceptsecrets(true).setSupportspreview(true);
    }),
    check: unary(checked),
    diff: unary((request: messages.DiffRequest) => {
      return different(cloud.difference({ ...questionOf(request), type: request.getType() }).changes);
    }),
    create: unary(async (request: messages.CreateRequest) => {
      const subject = subjectOf(request);
      const inputs = read(request.getProperties());
      const answer = new messages.CreateResponse();
      if (request.getPreview()) {
        answer.setProperties(write(declared(subject.type) ? previewCreate(subject.type, inputs) : inputs));
        return answer;
      }
      const { id, outputs } = await cloud.create(subject, inputs);
      answer.setId(id);
      answer.setProperties(write(outputs));
      return answer;
    }),
    read: unary((request: messages.ReadRequest) => {
      const found = cloud.read(
        subjectOf(request),
        request.getId(),
        read(request.getInputs()),
        read(request.getProperties()),
      );
      const answer = new messages.ReadResponse();
      // Without an id the engine takes it for deleted outside of Pulumi.
      if (found === undefined) return answer;
      answer.setId(request.getId());
      answer.setProperties(write(found.outputs));
      answer.setInputs(write(found.inputs));
      return answer;
    }),
    update: unary(async (request: messages.UpdateRequest) => {
      const subject = subjectOf(request);
      const question = questionOf(request);
      const answer = new messages.UpdateResponse();
      answer.setProperties(
        write(
          request.getPreview()
            ? declared(subject.type)
              ? previewUpdate(subject.type, question)
              : question.inputs
            : await cloud.update(subject, request.getId(), question),
        ),
      );
      return answer;
    }),
    delete: unary(async (request: messages.DeleteRequest) => {
      await cloud.delete(subjectOf(request), request.getId(), read(request.getOldInputs()));
      return new empty.Empty();
    }),
    invoke: unary((request: messages.InvokeRequest): messages.InvokeResponse => {
      throw new Error(`${request.getTok()}: the simulated clouds answer no calls, and the program makes none`);
    }),
    cancel: unary((_: empty.Empty) => new empty.Empty()),
  };
}

const packageShape = z.object({ version: z.string() });

/** Version of the SDK, which is the plug-in's. */
function versionOf(packageName: string) {
  const file = fileURLToPath(import.meta.resolve(`@pulumi/${packageName}/package.json`));
  return packageShape.parse(JSON.parse(readFileSync(file, "utf8"))).version;
}

function checked(request: messages.CheckRequest) {
  const answer = new messages.CheckResponse();
  const news = request.getNews();
  if (news !== undefined) answer.setInputs(news);
  return answer;
}

function questionOf(request: messages.DiffRequest | messages.UpdateRequest) {
  return {
    oldInputs: read(request.getOldInputs()),
    oldOutputs: read(request.getOlds()),
    inputs: read(request.getNews()),
    ignoreChanges: request.getIgnorechangesList(),
  };
}

const { Kind } = messages.PropertyDiff;
const kinds = {
  add: [Kind.ADD, Kind.ADD_REPLACE],
  delete: [Kind.DELETE, Kind.DELETE_REPLACE],
  update: [Kind.UPDATE, Kind.UPDATE_REPLACE],
} as const;

function different(changes: readonly Change[]) {
  const top = (some: readonly Change[]) => [...new Set(some.map(({ path }) => path.split(/[.[]/)[0] ?? ""))].sort();
  const { DIFF_NONE, DIFF_SOME } = messages.DiffResponse.DiffChanges;
  const answer = new messages.DiffResponse()
    .setChanges(changes.length === 0 ? DIFF_NONE : DIFF_SOME)
    .setDiffsList(top(changes))
    .setReplacesList(top(changes.filter(({ replaces }) => replaces)))
    .setHasdetaileddiff(true);
  for (const { path, kind, replaces, inState } of changes) {
    const detail = new messages.PropertyDiff().setKind(kinds[kind][replaces ? 1 : 0]).setInputdiff(!inState);
    answer.getDetaileddiffMap().set(path, detail);
  }
  return answer;
}
