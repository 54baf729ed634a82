import assert from "node:assert/strict";
import { windowsCheck } from "../../components/kubernetes/addOns/nodeProblemDetector.ts";
import { type Manifest, podSpec } from "../../components/kubernetes/manifest.ts";
import { flanneldProgram } from "../../components/podNetworks/flannel/network.ts";
import { type FlagRecord, flagRecords } from "../../tools/flags/records.ts";
import { exampleSpec } from "../support/stacks.ts";
import { combinations, manifest, manifestsOf } from "./switches.ts";

const flannelOfWindows = exampleSpec("aws-prod").artifacts.find(({ name }) => name === "flanneld.exe");

/** A command line with the image in which its program is. */
interface CommandLine {
  readonly title: string;
  /** Reference as the records have it: without digest, and without the tag's `v`. */
  readonly image: string;
  readonly command: readonly string[];
  readonly args: readonly string[];
}

/** Programs that are no Go programs of an add-on: shells, and what comes with the image's system. */
const others = ["powershell.exe", "cmd.exe", "cp", "sh", "C:\\LogMonitor\\LogMonitor.exe"];

function commandLines(manifests: readonly Manifest[]): readonly CommandLine[] {
  return manifests.flatMap((manifest) => {
    const pod = podSpec(manifest);
    return [...(pod?.initContainers ?? []), ...(pod?.containers ?? [])].flatMap(({ name, image, command, args }) => {
      const line = {
        title: `${manifest.metadata.name}, ${name}`,
        image: String(image).replace(/:v?([\w.-]+)(?:@sha256:\w+)?$/, ":$1"),
        command: (command ?? []).map(String),
        args: (args ?? []).map(String),
      };
      const nothingSaid = line.command.length + line.args.length === 0;
      return nothingSaid || others.includes(line.command[0] ?? "") ? [] : [line];
    });
  });
}

const values = {
  bool: /^(?:true|false)$/,
  int: /^-?\d+$/,
  float: /^-?\d+(?:\.\d+)?$/,
  duration: /^(?:\d+(?:\.\d+)?(?:ns|us|ms|s|m|h))+$|^0$/,
  value: /^/,
};

/** What a program would say of its command line. */
function problems({ image, command, args }: CommandLine, records: readonly FlagRecord[]): readonly string[] {
  const ofImage = records.filter(({ images }) => images.includes(image));
  if (ofImage.length === 0) return [`the flags of ${image} are not recorded: cli/node tools/flags/record.ts`];
  const program = command[0]?.replace(/^.*[\\/]/, "").replace(/\.exe$/, "");
  const called = program === undefined ? ofImage : ofImage.filter((each) => each.program === program);
  const line = [...command.slice(1), ...args];
  const record = called.find(({ mode }) => mode === undefined || mode === line[0]);
  if (record === undefined) return [`${image} has no program ${program ?? ""} that takes ${line[0]}`];
  return lineProblems(record.mode === undefined ? line : line.slice(1), record);
}

function lineProblems(line: readonly string[], { program, parser, flags, from }: FlagRecord): readonly string[] {
  const found: string[] = [];
  const left = [...line];
  for (let text = left.shift(); text !== undefined; text = left.shift()) {
    const [, dashes = "", name = "", assigned] = /^(--?)([^=]+)(?:=(.*))?$/s.exec(text) ?? [];
    const kind = Object.entries(flags).find(([, names]) => names.split(" ").includes(name))?.[0];
    if (dashes === "") found.push(`${program} takes no argument ${text}`);
    else if (dashes === "-" && parser !== "go") found.push(`${program} wants two dashes before ${name}`);
    else if (kind === undefined) found.push(`${program} knows no flag --${name} (${from})`);
    else {
      const value = assigned ?? (kind === "bool" ? "true" : left.shift());
      if (value === undefined || !isKind(kind, value)) found.push(`--${name} of ${program} wants a ${kind}: ${value}`);
    }
  }
  return found;
}

const isKind = (kind: string, value: string): boolean =>
  Object.entries(values).some(([name, pattern]) => name === kind && pattern.test(value));

describe("command lines of add-ons", () => {
  const records = flagRecords();

  for (const { title, spec } of combinations.filter(({ title }) => title.endsWith("everything on"))) {
    it(`${title}: name only flags that the programs know, with values that they take`, () => {
      const autoscalerLimits = { nodes: 9, cores: 90, lowestPriority: -5, scaleDown: false };
      const manifests = manifestsOf({ ...spec, addons: { ...spec.addons, autoscalerLimits } });
      const lines = commandLines(manifests);
      assert.ok(lines.length > 20, `${lines.length} command lines`);
      const wrong = lines.flatMap((line) => problems(line, records).map((problem) => `${line.title}: ${problem}`));
      assert.deepEqual(wrong, []);
    });
  }

  it("cover what the approver of certificates reads from its environment instead", () => {
    const approver = manifest(manifestsOf(exampleSpec("aws-prod")), "Deployment", "kubelet-csr-approver");
    const [record] = records.filter(({ program }) => program === "kubelet-csr-approver");
    assert.ok(record);
    const env = podSpec(approver)?.containers[0]?.env ?? [];
    // ff.WithEnvVars: PROVIDER_REGEX is --provider-regex (postfinance/kubelet-csr-approver: internal/cmd).
    const line = env.map(({ name, value }) => `--${String(name).toLowerCase().replaceAll("_", "-")}=${String(value)}`);
    assert.equal(line.length, 5);
    assert.deepEqual(lineProblems(line, record), []);
  });

  it("of flanneld on Windows nodes are read too", () => {
    const [record] = records.filter(({ program }) => program === "flanneld");
    assert.ok(record);
    assert.ok(record.from.includes(`@v${flannelOfWindows?.version},`));
    assert.deepEqual(lineProblems([...flanneldProgram.arguments], record), []);
  });

  it("of the checks that node-problem-detector calls on Windows are read too", () => {
    for (const component of ["kubelet", "cri"] as const) {
      for (const { path, args } of windowsCheck(component).rules) {
        const image = records.find(({ program }) => program === "health-checker")?.images[0] ?? "";
        assert.deepEqual(problems({ title: component, image, command: [path], args }, records), []);
      }
    }
  });

  it("are told apart where they are wrong", () => {
    const image = "registry.k8s.io/autoscaling/cluster-autoscaler:1.36.0";
    const said = (image: string, ...args: string[]) => problems({ title: "", image, command: [], args }, records);
    assert.deepEqual(said(image, "--expander=priority", "--v=4"), []);
    const unknown = said(image, "--max-nodes=3").join();
    assert.match(unknown, /^cluster-autoscaler knows no flag --max-nodes \(k8s\.io\/autoscaler\/cluster-autoscaler@v1\.36\.0, source\)$/);
    assert.deepEqual(said(image, "--max-nodes-total=many"), ["--max-nodes-total of cluster-autoscaler wants a int: many"]);
    assert.deepEqual(said(image, "-expander=x", "more"), [
      "cluster-autoscaler wants two dashes before expander",
      "cluster-autoscaler takes no argument more",
    ]);
    assert.deepEqual(said(image.replace("36.0", "36.1")), [
      "the flags of registry.k8s.io/autoscaling/cluster-autoscaler:1.36.1 are not recorded: cli/node tools/flags/record.ts",
    ]);
    const driver = records.find(({ mode }) => mode === "node")?.images[0] ?? "";
    assert.match(said(driver, "node", "--k8s-tag-cluster-id=x").join(), /knows no flag --k8s-tag-cluster-id/);
  });
});
