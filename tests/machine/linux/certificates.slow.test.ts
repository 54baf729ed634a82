// Sees what nothing faster does: in which order a renewal restarts a control plane, and that it is taken up again.
import assert from "node:assert/strict";
import {
  bootedControlPlane as controlPlane,
  describeOnMachine,
  runningControlPlane as running,
  type Sandbox,
} from "./machine.ts";
import { realEtcd, withEtcd } from "./realEtcd.ts";

/** Starts one of three members. */
const loneEtcd = `${withEtcd}
start --name a --initial-cluster a=http://127.0.0.1:2380,b=http://127.0.0.2:2380,c=http://127.0.0.3:2380 \
  --initial-advertise-peer-urls http://127.0.0.1:2380 --listen-peer-urls http://127.0.0.1:2380 --listen-metrics-urls http://127.0.0.1:2381
soon member_up
! members_well
kill %1
! member_up
`;

const expired = `-----BEGIN CERTIFICATE-----
MIIBDDCBsgIBATAKBggqhkjOPQQDAjASMRAwDgYDVQQDDAdleHBpcmVkMB4XDTI0
MDEwMTAwMDAwMFoXDTI1MDEwMTAwMDAwMFowEjEQMA4GA1UEAwwHZXhwaXJlZDBZ
MBMGByqGSM49AgEGCCqGSM49AwEHA0IABAOHCAbn1+YPXWfBD3Xvq0BhcI4u6QAA
+XBryBu7JnY6UQJI6RZN4rgFTxxFOKiwWe9wvvD8+d+lTKm5pLMf190wCgYIKoZI
zj0EAwIDSQAwRgIhAJU7VwiB7k0ddA6OJMXJ8J0UyIi2GXBG0PL66JC2Z0ztAiEA
/QVaPS9syA2+E4fAgD83+RP8fIy4zogrCGxwZaQmXd8=
-----END CERTIFICATE-----
`;

describeOnMachine("renewal of certificates", () => {
  const renew = "/opt/fenestra/renew-certificates.sh";
  /** Its waits for a turn, kubeadm and restarts, while no member has a quorum. */
  const alone = (here: Sandbox): readonly string[] => {
    here.write("/store/fail", "get health\n");
    const { calls } = here.runOrFail(renew);
    assert.equal(here.list("/etc/kubernetes/manifests").length, 4);
    assert.equal(here.has("/var/lib/fenestra/renewing"), false);
    const restarts = ["certs", "etcd", ":2381/livez", "kube-apiserver", "kube-controller-manager", "kube-scheduler"];
    const shown = calls.flatMap((call) => /certs|:2381\/livez|(?<=--name \^\()[a-z-]+/.exec(call)?.[0] ?? []);
    assert.deepEqual(shown.slice(-restarts.length), restarts);
    return calls.slice(
      0,
      calls.findIndex((call) => call.startsWith("kubeadm")),
    );
  };

  it("happens in time, and restarts each component", () => {
    const here = running();
    const { matching } = here.runOrFail(renew);
    assert.deepEqual(matching(/^kubeadm/), ["kubeadm certs renew all --config /etc/kubernetes/kubeadm.yaml"]);
    assert.equal(new Set(matching(/^crictl stop --timeout 30 [0-9a-f]{64}$/)).size, 4);
    const all = ["health", "health", "health"];
    // All members are well before the first is taken away, and again before the API server is.
    const order = matching(/^(kubeadm|sleep|crictl stop|etcdctl.*get health)/);
    const steps = order.slice(1).map((call) => /health|kubeadm|stop/.exec(call)?.[0]);
    assert.deepEqual(steps, [...all, "kubeadm", "stop", ...all, "stop", "stop", "stop"]);
    assert.equal(here.list("/etc/kubernetes/manifests").length, 4);
  });

  it("touches nothing while a member of etcd is not well", () => {
    const here = running();
    here.write("/store/fail", "get health\n");
    const { matching } = here.fails(1, /a member of etcd is not well/, renew);
    assert.deepEqual(matching(/^kubeadm/), []);
    assert.equal(here.list("/etc/kubernetes/manifests").length, 4);
  });

  it("waits for no other member when the certificates end soon, but for its turn", () => {
    const here = running();
    here.set({ URGENT_DAYS: 14 });
    const asked = alone(here);
    assert.match(asked[0] ?? "", /^sleep \d+$/);
    assert.match(asked[1] ?? "", / get health$/);
  });

  it("waits for nobody where a certificate has expired", () => {
    const here = running();
    here.write("/etc/kubernetes/pki/etcd/server.crt", expired);
    assert.deepEqual(alone(here), []);
  });

  it("takes a member, a real one, for started although the others are away", async function () {
    const here = controlPlane();
    await realEtcd(this, here);
    here.set({ MEMBER_ADDRESSES: "127.0.0.1" });
    here.runOrFail("bash", "-c", loneEtcd);
  });

  it("waits for no turn, nor for health, where there is one member", () => {
    const here = running();
    here.set({ MEMBER_ADDRESSES: "10.20.224.10" });
    assert.match(alone(here)[0] ?? "", / get health$/);
  });

  it("does nothing before its time", () => {
    const here = running();
    here.set({ RENEW_DAYS: 1 });
    const { calls } = here.runOrFail(renew);
    assert.deepEqual(calls, []);
  });

  it("gives a kubelet whose certificate has ended another one, also after it was cut off", () => {
    const here = running();
    const own = "/var/lib/kubelet/pki/kubelet-client-current.pem";
    here.set({ RENEW_DAYS: 1 });
    here.write(own, expired);
    here.write("/store/cut", "kubeconfig kubelet\n");
    assert.equal(here.run(renew).code, 137);
    const { code, output, calls } = here.run(renew);
    assert.deepEqual([code, here.has(own), here.has("/etc/kubernetes/kubelet.conf")], [0, false, true], output);
    assert.equal(calls.at(-1), "systemctl restart kubelet.service");
    here.write(own, here.read("/etc/kubernetes/pki/ca.crt"));
    assert.deepEqual(here.run(renew).calls, []);
  });

  it("goes on where it was cut off, and takes no manifest away meanwhile", () => {
    const here = running();
    here.write("/store/cut", "crictl stop\n");
    assert.equal(here.run(renew).code, 137);
    assert.equal(here.list("/etc/kubernetes/manifests").length, 4);
    here.set({ RENEW_DAYS: 1 });
    const { code, matching } = here.run(renew);
    assert.deepEqual([code, matching(/^crictl stop/).length], [0, 4]);
  });

  it("fails, and says so, when an authority runs out soon", () => {
    const here = running();
    here.set({ RENEW_DAYS: 1, CA_WARNING_DAYS: 90 });
    here.fails(1, /warning: the authority in \/etc\/kubernetes\/pki\/ca\.crt runs out on /, renew);
  });
});
