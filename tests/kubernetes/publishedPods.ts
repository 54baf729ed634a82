import assert from "node:assert/strict";
import { readDocument } from "../docs/documents.ts";
import { type ApiServer, until } from "../support/apiServer.ts";
import { placed } from "./podCluster.ts";
import { objectIn, type PodCase, type PodHome, podHomes, podTable } from "./pods.ts";

const win = { "kubernetes.io/os": "windows" };
const container = { name: "main", image: "x:ltsc2022", resources: { limits: { memory: "1Gi" } } };
const objectOf = (home: PodHome, name: string, spec: object, namespace = "corpus") =>
  objectIn(home, namespace, { containers: [container], ...spec }, name);
const pod = (name: string, spec: object) => objectOf(podHomes.pod, name, spec);

/** What GitOps applies again and again. */
const repeated: Readonly<Record<string, string>> = {
  "a pod with tolerations and a selector": pod("both", {
    nodeSelector: win,
    tolerations: [{ key: "team", operator: "Exists" }],
  }),
  "a pod with an affinity and an image for any build": pod("any", {
    nodeSelector: { ...win, "kubernetes.io/arch": "amd64" },
    containers: [{ ...container, image: "mcr.microsoft.com/dotnet/aspnet:8.0" }],
    affinity: {
      nodeAffinity: {
        preferredDuringSchedulingIgnoredDuringExecution: [
          { weight: 1, preference: { matchExpressions: [{ key: "a", operator: "Exists" }] } },
        ],
      },
    },
  }),
  "one with a required affinity of its own": pod("wide-affine", {
    tolerations: [{ operator: "Exists" }],
    affinity: {
      nodeAffinity: {
        requiredDuringSchedulingIgnoredDuringExecution: {
          nodeSelectorTerms: [{ matchExpressions: [{ key: "kubernetes.io/arch", operator: "In", values: ["amd64"] }] }],
        },
      },
    },
  }),
};

/** Of workloads that people publish, beside their places: what is applied again, agents, Pod Security, the manual. */
export function publishedPods(cluster: () => ApiServer): void {
  describe("with the policies that change pods", () => {
    for (const [title, text] of Object.entries(repeated))
      for (const how of [["--server-side"], []])
        it(`${title} can be applied a second time${how.length === 0 ? " by a client" : ""}, and shows no difference`, async () => {
          const apply = (...args: readonly string[]) => cluster().kubectl([...args, ...how, "-f", "-"], text);
          const first = await apply("apply");
          assert.equal(first.code, 0, first.stderr);
          const second = await apply("apply");
          assert.equal(second.code, 0, second.stderr);
          // The controllers first write a status.
          await until("no difference", async () => (await apply("diff")).code === 0);
          await cluster().kubectl(["delete", "--force", "-f", "-"], text);
        });

    it("make the pods of every node agent with the labels that the manual's table names, and none without", async () => {
      const { blocks, text } = readDocument("docs/windows-applications.md");
      const commands = blocks.find(({ text: each }) => each.includes("namespace agents"))?.text.trim() ?? "";
      const [create = "", security = "", hostProcess = ""] = commands.split("\n");
      const follow = async (command: string) =>
        assert.equal((await cluster().kubectl(command.split(" ").slice(1))).code, 0, command);
      const rows = (text.split("## Node agents")[1] ?? "").split("\n").filter((line) => /^\| .*`.*\|/.test(line));
      const needed = [" nothing", " the labels", " all labels"];
      const levels = rows.flatMap((row) => {
        const [, names = "", needs = ""] = row.split("|");
        const level = needed.findIndex((each) => needs.startsWith(each));
        return level < 0 ? [] : [...names.matchAll(/`([a-z-]+)`( on Windows)?/g)].map((found) => ({ found, level }));
      });
      const agents = podTable.flatMap((shape) => {
        const [, chart = "", system] = /^agents\/([a-z-]+)(, Windows)?$/.exec(shape.title) ?? [];
        if (chart === "") return [];
        const own = levels.find(({ found: [, name, alone] }) => name === chart && (alone === undefined || system));
        return [{ chart, shape, level: own?.level ?? assert.fail(`the manual has no ${chart}`) }];
      });
      const lost = levels.filter(({ found }) => !agents.some(({ chart }) => chart === found[1]));
      assert.deepEqual(lost, []);
      const pods = (namespace: string, { spec }: PodCase) => {
        const text = objectOf(podHomes.pod, "agent", spec, namespace);
        return cluster().send("POST", `/api/v1/namespaces/${namespace}/pods?dryRun=All`, text);
      };
      await follow(create);
      for (const [level, command] of [[0], [1, security], [2, hostProcess]] as const) {
        const own = agents.filter((agent) => agent.level === level);
        assert.ok(own.length > 3);
        for (const { chart, shape } of own) {
          if (command === undefined) continue;
          assert.ok(!(await pods("agents", shape)).taken, `${chart} needs no ${command}`);
        }
        if (command !== undefined) await follow(command);
        const [first] = own;
        // Labels are seen a moment later.
        if (first !== undefined && command !== undefined)
          await until(command, async () => (await pods("agents", first.shape)).taken);
        const shapes = own.map(({ shape }) => (command === undefined ? shape : { ...shape, namespace: "agents" }));
        const outcomes = await placed(cluster(), `agents-${level}`, shapes);
        const places = (of: readonly { readonly place: string }[]) => of.map(({ place }) => place);
        assert.deepEqual(places(outcomes), places(shapes));
      }
    });

    it("tell the labels to whom Pod Security would refuse, and to nobody else", async () => {
      const inContainer = (more: object) => ({ containers: [{ ...container, image: "x", ...more }] });
      const secured = (securityContext: object) => [{ securityContext }, inContainer({ securityContext })];
      const controls: readonly object[] = [
        ...["hostNetwork", "hostPID", "hostIPC"].flatMap((field) => [{ [field]: true }, { [field]: false }]),
        ...[{ hostPath: { path: "/" } }, { emptyDir: {} }].map((volume) => ({ volumes: [{ name: "v", ...volume }] })),
        ...["Unconfined", "RuntimeDefault"].flatMap((type) => [
          ...secured({ seccompProfile: { type } }),
          ...secured({ appArmorProfile: { type } }),
        ]),
        ...["spc_t", "container_t", "container_init_t"].flatMap((type) => secured({ seLinuxOptions: { type } })),
        ...["NET_ADMIN", "SYS_CHROOT", "ALL"].map((capability) =>
          inContainer({ securityContext: { capabilities: { add: [capability], drop: ["ALL"] } } }),
        ),
        ...[true, false].map((privileged) => inContainer({ securityContext: { privileged } })),
        ...[{ hostPort: 80 }, {}].map((port) => inContainer({ ports: [{ containerPort: 80, ...port }] })),
        { hostUsers: false, ...inContainer({ securityContext: { procMount: "Unmasked" } }) },
        ...podTable.flatMap(({ home, spec, title }) =>
          home.kind === "DaemonSet" && !/^own/.test(title) && !JSON.stringify(spec).includes("hostProcess")
            ? [spec]
            : [],
        ),
      ];
      const warnings = async (spec: object, namespace = "corpus") => {
        const text = objectOf(podHomes.deploy, "asked", spec, namespace);
        return (await cluster().send("POST", `/apis/apps/v1/namespaces/${namespace}/deployments?dryRun=All`, text))
          .warnings;
      };
      const [theirs, ours] = ["would violate PodSecurity", "Pod Security refuses its pods"];
      let refused = 0;
      for (const spec of controls) {
        const told = await warnings(spec);
        const wrong = told.some((each) => each.startsWith(theirs));
        refused += wrong ? 1 : 0;
        const says = told.some((each) => each.includes(ours));
        assert.equal(says, wrong, `${JSON.stringify(spec)}: ${told.join("\n")}`);
      }
      assert.ok(refused > 20, `${refused} refused`);
      const before = "label namespace let-in pod-security.kubernetes.io/enforce=baseline";
      for (const text of ["create namespace let-in", before]) await cluster().kubectl(text.split(" "));
      const spec = { hostNetwork: true };
      const command = / run kubectl (.*)$/.exec((await warnings(spec, "let-in")).join("\n"))?.[1] ?? assert.fail();
      assert.equal((await cluster().kubectl(command.split(" "))).code, 0, command);
      await until("the labels to count", async () => !(await warnings(spec, "let-in")).join().includes("Security"));
    });

    it("take what the manual shows as it is, without a warning", async () => {
      const shown = readDocument("docs/windows-applications.md").blocks.filter(({ language }) => language === "yaml");
      assert.ok(shown.length >= 2);
      for (const { text, line } of shown) {
        const taken = await cluster().kubectl(
          ["apply", "--server-side", "--dry-run=server", "--namespace", "corpus", "-f", "-"],
          text,
        );
        assert.deepEqual([taken.code, taken.stderr], [0, ""], `line ${line}: ${taken.stderr}`);
      }
    });

    it("prefer the newest build where any would do, and leave the pod's own order", async () => {
      const made = async (name: string) =>
        JSON.parse(
          (await cluster().kubectl(["create", "--dry-run=server", "-o", "json", "-f", "-"], repeated[name])).stdout,
        );
      const { spec } = JSON.parse(repeated["a pod with an affinity and an image for any build"] ?? "");
      const { affinity } = (await made("a pod with an affinity and an image for any build")).spec;
      assert.deepEqual(affinity, spec.affinity);
      const plain = pod("plain", { nodeSelector: win, containers: [{ ...container, image: "x" }] });
      const { stdout } = await cluster().kubectl(["create", "--dry-run=server", "-o", "json", "-f", "-"], plain);
      assert.deepEqual(JSON.parse(stdout).spec.affinity.nodeAffinity.preferredDuringSchedulingIgnoredDuringExecution, [
        {
          weight: 100,
          preference: {
            matchExpressions: [{ key: "node.kubernetes.io/windows-build", operator: "In", values: ["10.0.20348"] }],
          },
        },
      ]);
    });

    it("stay within the limits of cost for a pod of Windows with 9,000 tolerations and 50 containers", async () => {
      const tolerations = Array.from({ length: 9000 }, (_, index) => ({
        key: `team-${index}`,
        operator: "Exists",
        effect: "NoSchedule",
      }));
      const containers = Array.from({ length: 50 }, (_, index) => ({
        ...container,
        name: `c${index}`,
        image: `registry.example.test/a/path/of/an/app-${index}:ltsc2022`,
        volumeMounts: Array.from({ length: 20 }, (__, mount) => ({ name: "e", mountPath: `C:\\e${mount}` })),
      }));
      const volumes = [{ name: "e", emptyDir: {} }];
      for (const [path, body] of [
        ["api/v1/namespaces/corpus/pods", pod("wide", { nodeSelector: win, tolerations, containers, volumes })],
        [
          "apis/apps/v1/namespaces/corpus/deployments",
          objectOf(podHomes.deploy, "wide", { nodeSelector: win, tolerations, containers, volumes }),
        ],
      ] as const) {
        const answer = await cluster().send("POST", `/${path}?dryRun=All`, body);
        assert.ok(answer.taken, answer.body.slice(0, 500));
        if (!path.endsWith("pods")) continue;
        // The API server could not merge a class in time.
        const { nodeSelector, runtimeClassName } = JSON.parse(answer.body).spec;
        const build = { ...win, "node.kubernetes.io/windows-build": "10.0.20348" };
        assert.deepEqual([nodeSelector, runtimeClassName], [build, undefined]);
      }
    });
  });
}
