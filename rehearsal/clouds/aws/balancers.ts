import {
  listOf,
  mapOf,
  numberOf,
  type PropertyMap,
  resourcesOfType,
  textOf,
} from "../../../components/gates/resources.ts";
import type { RecordedProgram, RecordedResource } from "../../../plan/program/recorded.ts";
import type { HealthRules } from "../../host/loadBalancer.ts";
import type { SimulatedBalancer } from "../cloud.ts";

/** The network load balancers of a program, one per listener. */
export function awsBalancers(program: RecordedProgram): readonly SimulatedBalancer[] {
  const listeners = resourcesOfType(program, "aws:lb/listener:Listener");
  const groups = new Map(
    resourcesOfType(program, "aws:lb/targetGroup:TargetGroup").map((group) => [textOf(group.outputs.arn) ?? "", group]),
  );
  return resourcesOfType(program, "aws:lb/loadBalancer:LoadBalancer").flatMap((balancer) =>
    listeners
      .filter(({ inputs }) => textOf(inputs.loadBalancerArn) === textOf(balancer.outputs.arn))
      .map((listener) => simulatedBalancer(program, balancer, listener, groups)),
  );
}

function simulatedBalancer(
  program: RecordedProgram,
  balancer: RecordedResource,
  listener: RecordedResource,
  groups: ReadonlyMap<string, RecordedResource>,
): SimulatedBalancer {
  const arn = textOf(mapOf(listOf(listener.inputs.defaultActions)[0]).targetGroupArn) ?? "";
  const group = groups.get(arn);
  const targets = resourcesOfType(program, "aws:lb/targetGroupAttachment:TargetGroupAttachment")
    .filter(({ inputs }) => textOf(inputs.targetGroupArn) === arn)
    .map(({ inputs }) => ({
      host: textOf(inputs.targetId) ?? "",
      port: numberOf(inputs.port) ?? numberOf(group?.inputs.port) ?? 0,
    }));
  const settings: PropertyMap = group?.inputs ?? {};
  const check = mapOf(settings.healthCheck);
  if (textOf(check.protocol) !== "HTTPS") throw new Error(`${group?.name}: its health check is not HTTPS`);
  return {
    dnsName: textOf(balancer.outputs.dnsName) ?? "",
    port: numberOf(listener.inputs.port) ?? 0,
    targets,
    health: healthRules(check),
    // A target that is sent back to itself, with its own address as the sender's, gets no answer (Elastic Load
    // Balancing, Network Load Balancers: "Client IP preservation", with the defaults; "Troubleshoot").
    answersTargets: (textOf(settings.preserveClientIp) ?? String(textOf(settings.targetType) !== "ip")) === "false",
  };
}

/** Defaults as the provider documents them for HTTPS checks (pulumi-aws: TargetGroupHealthCheck). */
function healthRules(check: PropertyMap): HealthRules {
  return {
    endsConnections: true,
    answerDecides: false,
    ...(Number(check.port) > 0 ? { port: Number(check.port) } : {}),
    path: textOf(check.path) ?? "/",
    timeoutMs: (numberOf(check.timeout) ?? 10) * 1000,
    healthyThreshold: numberOf(check.healthyThreshold) ?? 3,
    unhealthyThreshold: numberOf(check.unhealthyThreshold) ?? 3,
    failsOpen: true,
  };
}
