import { z } from "zod";

/** What objects say, by nested keys; a list of texts is one sorted text. */
export interface Facts {
  readonly [key: string]: Fact;
}
type Fact = string | Facts | undefined;

const isFacts = (value: Fact): value is Facts => typeof value === "object";

/** A part of facts by its keys. */
export function at(value: Fact, ...keys: string[]): Facts {
  const found = keys.reduce((some: Fact, key) => (isFacts(some) ? some[key] : undefined), value);
  return isFacts(found) ? found : {};
}

const text = (value: Fact) => (typeof value === "string" ? value : "");
const lines = (value: Fact) => text(value).split("\n").filter(Boolean);
const pick = (value: Facts, keys: readonly string[]): Facts => Object.fromEntries(keys.map((key) => [key, value[key]]));

/** Texts for people, generators' additions, and what says nothing. */
const unsaid = /^(description|message|caBundle|annotations|labels|conversion|listKind|singular|jsonPath|priority)$/;
const mapping = z.record(z.string(), z.unknown());
const named = z.object({ mountPath: z.string(), rule: z.string(), key: z.string(), name: z.string() }).partial();

/** Items of a list by path, rule, key or name. */
function factOf(value: unknown, key = ""): Fact {
  if (Array.isArray(value)) {
    if (/^(command|args)$/.test(key)) return value.join("\n").replaceAll("\\\\", "\\");
    if (value.every((each) => typeof each !== "object")) return value.map(String).toSorted().join(" ");
    return factsIn(
      Object.fromEntries(
        value.map((each, index) => {
          const { mountPath, rule, key: label, name } = named.parse(each);
          return [mountPath ?? rule?.replaceAll(/\s+/g, " ") ?? label ?? name ?? index, each];
        }),
      ),
    );
  }
  return typeof value === "object" && value !== null
    ? factsIn(mapping.parse(value))
    : String(value).replaceAll("\\\\", "\\");
}

/** The SDK writes hyphens as underscores; paths may have doubled backslashes. */
const factsIn = (value: Readonly<Record<string, unknown>>): Facts =>
  Object.fromEntries(
    Object.entries(value)
      .filter(([key, each]) => each !== undefined && each !== null && !unsaid.test(key))
      .map(([key, each]) => [key.startsWith("x_") ? key.replaceAll("_", "-") : key, factOf(each, key)]),
  );

/** Defaults of the API server (kubernetes/kubernetes: pkg/apis/core/v1/defaults.go). */
const probeDefaults: Facts = {
  initialDelaySeconds: "0",
  timeoutSeconds: "1",
  periodSeconds: "10",
  failureThreshold: "3",
};

function probe(value: Fact, ports: Facts): Fact {
  if (!isFacts(value)) return undefined;
  const { httpGet, successThreshold: _, ...rest } = value;
  const get: Facts = { scheme: "HTTP", ...at(httpGet) };
  const port = at(ports, text(get.port)).containerPort ?? get.port;
  return { ...probeDefaults, ...rest, ...(httpGet !== undefined && { httpGet: { ...get, port } }) };
}

function container(own: Facts, pod: Facts): Facts {
  const [env, ports, mounts] = [at(own.env), at(own.ports), at(own.volumeMounts)];
  const written = [...lines(own.command), ...lines(own.args)];
  const values = (name: string): Fact =>
    at(env, name).value ?? shown(at(env, name, "valueFrom")).replace("apiVersion v1, ", "");
  const flags: Record<string, string> = {};
  for (const word of written.map((each) => each.replaceAll(/\$\((\w+)\)/g, (_, name) => text(values(name))))) {
    const [, flag = "words", value = flag === "words" ? word : "true"] =
      /^--?([a-z][\w.-]*)(?:=(.*))?$/is.exec(word) ?? [];
    flags[flag] = flags[flag] === undefined ? value : `${flags[flag]} ${value}`;
  }
  const folder = (path: string) => path.replace(/(.)\/$/, "$1");
  return {
    flags,
    env: Object.fromEntries(
      Object.keys(env)
        .filter((name) => !written.some((word) => word.includes(`$(${name})`)))
        .map((name) => [name, values(name)]),
    ),
    context: { ...at(pod.securityContext), ...at(own.securityContext) },
    ...Object.fromEntries(
      ["livenessProbe", "readinessProbe", "startupProbe"].map((kind) => [kind, probe(own[kind], ports)]),
    ),
    limits: at(own.resources, "limits"),
    ports:
      Object.values(ports)
        .map((port) => text(at(port).containerPort))
        .toSorted()
        .join(" ") || undefined,
    hooks: Object.keys(at(own.lifecycle)).join(" ") || undefined,
    mounts: Object.fromEntries(
      Object.entries(mounts).map(([path, mount]) => [
        folder(path),
        `${folder(text(at(pod.volumes, text(at(mount).name), "hostPath").path))} ${text(at(mount).mountPropagation)}`.trim(),
      ]),
    ),
  };
}

function workload(spec: Facts): Facts {
  const pod = at(spec, "template", "spec");
  return {
    account: pod.serviceAccountName,
    pod: pick(pod, ["hostNetwork", "hostPID", "dnsPolicy", "priorityClassName", "terminationGracePeriodSeconds"]),
    rollout: at(spec.strategy ?? spec.updateStrategy, "rollingUpdate"),
    containers: Object.fromEntries(
      Object.entries({ ...at(pod.initContainers), ...at(pod.containers) }).map(([name, own]) => [
        name,
        container(at(own), pod),
      ]),
    ),
  };
}

/** Verbs by scope, group, resource and name, of each account. */
function rights(objects: readonly Named[]): Facts {
  const accounts: Record<string, Record<string, string>> = {};
  for (const { kind, facts } of objects.filter(({ kind }) => kind.endsWith("RoleBinding"))) {
    const scope = kind === "RoleBinding" ? "namespace" : "cluster";
    const { name, kind: roleKind } = at(facts.roleRef);
    const role = objects.find((each) => each.kind === roleKind && each.name === name);
    for (const [account] of Object.entries(at(facts.subjects)).filter(
      ([, each]) => at(each).kind === "ServiceAccount",
    )) {
      const own = accounts[account] ?? {};
      accounts[account] = own;
      if (role === undefined) own[`${scope} role`] = `${own[`${scope} role`] ?? ""} ${text(name)}`.trim();
      for (const rule of Object.values(at(role?.facts.rules)).map((each) => at(each)))
        for (const group of text(rule.apiGroups).split(" "))
          for (const resource of text(rule.resources ?? rule.nonResourceURLs).split(" "))
            for (const only of text(rule.resourceNames).split(" ")) {
              const key = `${scope} ${group}/${resource} ${only}`.trim();
              const verbs = new Set(`${own[key] ?? ""} ${text(rule.verbs)}`.trim().split(" "));
              own[key] = [...verbs].toSorted().join(" ");
            }
    }
  }
  return accounts;
}

interface Named {
  readonly kind: string;
  readonly name: string;
  readonly facts: Facts;
}

/** Served versions, by the fields that users can write. */
function definition(spec: Facts): Facts {
  const served = Object.entries(at(spec.versions)).filter(([, each]) => at(each).served !== "false");
  return { ...spec, versions: Object.fromEntries(served) };
}

/** What objects say, without texts for people. Throws for what is no object of Kubernetes. */
export function factsOf(documents: readonly unknown[]): Facts {
  const form = z.looseObject({ kind: z.string(), metadata: z.looseObject({ name: z.string() }) });
  const objects = documents.map((each): Named => {
    const { kind, metadata, ...rest } = form.parse(each);
    return { kind, name: metadata.name, facts: factsIn(rest) };
  });
  const isWorkload = ({ kind }: Named) => kind === "Deployment" || kind === "DaemonSet";
  const others = objects.filter((each) => !isWorkload(each) && !/Role|ServiceAccount/.test(each.kind));
  const said = ({ kind, facts: { spec, webhooks } }: Named) =>
    kind === "CustomResourceDefinition"
      ? definition(at(spec))
      : kind === "CSIDriver" || kind === "APIService"
        ? at(spec)
        : at(Object.values(at(webhooks))[0]);
  return {
    workloads: Object.fromEntries(
      objects.filter(isWorkload).map(({ name, facts }) => [name, workload(at(facts.spec))]),
    ),
    accounts: rights(objects),
    objects: Object.fromEntries(others.map((each) => [`${each.kind} ${each.name}`, said(each)])),
  };
}

const shown = (value: Fact): string =>
  isFacts(value)
    ? Object.entries(value)
        .filter(([, each]) => each !== undefined)
        .map(([key, each]) => `${key} ${isFacts(each) ? `(${shown(each)})` : each}`)
        .join(", ")
    : (value ?? "-");

/** `path: ours|theirs`; a dash for what is missing as a whole. */
export function differences(ours: Fact, theirs: Fact, path: string): readonly string[] {
  if (isFacts(ours) && isFacts(theirs))
    return [...new Set([...Object.keys(ours), ...Object.keys(theirs)])].flatMap((key) =>
      differences(ours[key], theirs[key], `${path}/${key}`),
    );
  return ours === theirs ? [] : [`${path}: ${shown(ours)}|${shown(theirs)}`];
}
