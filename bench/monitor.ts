import { Server, ServerCredentials, type ServerUnaryCall, type sendUnaryData } from "@grpc/grpc-js";
import engines from "@pulumi/pulumi/proto/engine_grpc_pb.js";
import engine from "@pulumi/pulumi/proto/engine_pb.js";
import monitors from "@pulumi/pulumi/proto/resource_grpc_pb.js";
import messages from "@pulumi/pulumi/proto/resource_pb.js";
import empty from "google-protobuf/google/protobuf/empty_pb.js";
import { urnOf } from "../plan/program/request.ts";

/** The monitor and the engine that a program talks to under Pulumi's own launcher. */
export interface Monitor {
  /** Address of both. */
  readonly address: string;
  /** How many resources were registered since the last call. */
  readonly count: () => number;
  readonly close: () => void;
}

function unary<Q, A>(answer: (request: Q) => A) {
  return ({ request }: ServerUnaryCall<Q, A>, callback: sendUnaryData<A>): void => callback(null, answer(request));
}

/**
 * Serves a first preview: a resource has its inputs and nothing else, and nothing waits. Features and answers are those of pulumi/pulumi
 * v3.260.0, pkg/resource/deploy/source_eval.go; what is not here is answered with UNIMPLEMENTED.
 */
export async function startMonitor(project: string, stack: string): Promise<Monitor> {
  let registered = 0;
  const server = new Server({ "grpc.max_receive_message_length": -1 });
  const done = unary(() => new empty.Empty());
  server.addService(monitors.ResourceMonitorService, {
    supportsFeature: unary((_: messages.SupportsFeatureRequest) => {
      const answer = new messages.SupportsFeatureResponse();
      answer.setHassupport(true);
      return answer;
    }),
    registerResource: unary((request: messages.RegisterResourceRequest) => {
      registered += 1;
      const answer = new messages.RegisterResourceResponse();
      answer.setUrn(urnOf({ project, stack }, request.getParent(), request.getType(), request.getName()));
      answer.setObject(request.getObject());
      return answer;
    }),
    registerResourceOutputs: done,
    registerResourceHook: done,
    registerErrorHook: done,
    signalAndWaitForShutdown: done,
  });
  let root = "";
  server.addService(engines.EngineService, {
    log: unary((request: engine.LogRequest) => {
      if (request.getSeverity() >= engine.LogSeverity.WARNING) console.error(request.getMessage());
      return new empty.Empty();
    }),
    getRootResource: unary((_: engine.GetRootResourceRequest) => {
      const answer = new engine.GetRootResourceResponse();
      answer.setUrn(root);
      return answer;
    }),
    setRootResource: unary((request: engine.SetRootResourceRequest) => {
      root = request.getUrn();
      return new engine.SetRootResourceResponse();
    }),
  });
  const port = await new Promise<number>((resolve, reject) =>
    server.bindAsync("127.0.0.1:0", ServerCredentials.createInsecure(), (error, bound) =>
      error === null ? resolve(bound) : reject(error),
    ),
  );
  return {
    address: `127.0.0.1:${port}`,
    count: () => {
      const count = registered;
      registered = 0;
      return count;
    },
    close: () => server.forceShutdown(),
  };
}
