import { readFileSync } from "node:fs";
import type { Context } from "mocha";
import { commandFolder } from "../../../rehearsal/testkit/machines.ts";
import { obtainPrograms } from "../../../rehearsal/testkit/programs.ts";
import { obtainOrSkip } from "../../support/skip.ts";
import type { Sandbox } from "./machine.ts";

/** Makes a machine's etcd a real one. */
export async function realEtcd(test: Context, here: Sandbox): Promise<void> {
  const programs = await obtainOrSkip(test, (progress) => obtainPrograms({ progress }));
  for (const name of ["etcd", "etcdctl", "etcdutl"] as const) here.artifact(name, readFileSync(programs[name].path));
}

/** Begins a script of {@link realEtcd} machines. `soon` waits for what needs a moment. */
export const withEtcd = `
set -eu
exec 2>&1
chmod +x /store/artifacts/etcd*
for name in etcdctl etcdutl; do ln -sf /store/artifacts/$name ${commandFolder}/$name; done
rm ${commandFolder}/curl
ip link set lo up
mkdir -p /etc/kubernetes/pki/etcd
cd /etc/kubernetes/pki/etcd
openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -subj /CN=etcd -days 2 -addext subjectAltName=IP:127.0.0.1 \
  -keyout healthcheck-client.key -out ca.crt
cp ca.crt healthcheck-client.crt
. /opt/fenestra/lib.sh
. /opt/fenestra/etcd.sh
start() {
  /store/artifacts/etcd --data-dir /var/lib/etcd --listen-client-urls https://127.0.0.1:2379 --advertise-client-urls https://127.0.0.1:2379 \
    --client-cert-auth --trusted-ca-file ca.crt --cert-file ca.crt --key-file healthcheck-client.key "$@" >/store/etcd.log 2>&1 &
}
soon() { poll 40 try "$@"; }
try() { "$@" || { /bin/sleep 0.2; false; }; }
`;
