import { kernelAndDisk } from "../../../rehearsal/testkit/machines.ts";

/** Folder of a machine where the fakes find what a test has put there, and leave what they were given. */
export const store = "/store";

/**
 * Commands of a machine, replaced by scripts that note each call in `$STORE/calls` and do just enough for the stages;
 * those of its kernel and disk are the rehearsal's; what systemctl would start is only noted.
 * A line of these files below `$STORE` is a regular expression of calls: `fail` that fail, `hang` that do not come
 * back, `idle` that succeed and do and say nothing, `cut` at which the whole run is killed. `fail-at` and `cut-at` hold
 * the number of such a call, `wrong-at` that of one which succeeds with the words of `wrong` for its answer; with
 * `half` of its own, with `nothing` done or said, or (`hang`) fails after the real program's limit.
 */
const preamble = `#!/bin/bash
STORE=${store}
call="\${0##*/} $*"
# scripts.test.ts looks at the limit of kubectl's calls.
call=\${call/% --request-timeout=*s/}
if [[ $call == *"--data-binary @"* ]]; then
  sent=\${call##*--data-binary @}
  call="$call $(grep -o '"Name":"[^"]*"' "\${sent%% *}")"
fi
printf '%s\\n' "$call" >>"$STORE/calls"
if [ -s "$STORE/cut" ] && grep -qEf "$STORE/cut" <<<"$call"; then rm "$STORE/cut"; kill -KILL 0; fi
wrong=
for at in cut fail wrong; do
  [ -e "$STORE/$at-at" ] || continue
  mapfile -t calls <"$STORE/calls"
  [ "$(<"$STORE/$at-at")" = "\${#calls[@]}" ] || continue
  case $at in cut) kill -KILL 0 ;; fail) exit 1 ;; wrong) wrong=$(<"$STORE/wrong") ;; esac
done
[ "$wrong" != nothing ] || exit 0
if [ "$wrong" = hang ]; then
  limit=$(grep -oE -- '(max-time|command-timeout) [0-9]+' <<<"$*" | tail -n 1)
  limit=\${limit##* }
  exec timeout "\${limit:-600}" /bin/sleep 600
fi
give() {
  case $wrong in
    '') cat ;;
    half) all=$(cat); printf %s "\${all:0:\${#all}/2}" ;;
    *) cat >/dev/null; printf %s "$wrong" ;;
  esac
}
if [ -s "$STORE/hang" ] && grep -qEf "$STORE/hang" <<<"$call"; then exec /bin/sleep 600; fi
if [ -s "$STORE/idle" ] && grep -qEf "$STORE/idle" <<<"$call"; then exit 0; fi
if [ -s "$STORE/fail" ] && grep -qEf "$STORE/fail" <<<"$call"; then exit 1; fi
`;

const scripts: Readonly<Record<string, string>> = {
  systemctl: '[ "$1" != show ] || cat "$STORE/units" 2>/dev/null || true',
  crictl: `
case $1 in
  pods) if [[ $* == *--name* ]]; then echo flannel; else echo of-the-machine; echo with-address; fi; exit ;;
  inspectp) [[ $* != *with-address ]] || echo 10.244.0.5; exit ;;
  stopp) exit ;;
esac
id() { sha256sum <<<"$1 $(cat "$STORE/started.$1" 2>/dev/null)" | cut -d ' ' -f 1; }
for name in $(if [ "$1" = ps ]; then tr -d '^()$' <<<"\${*: -1}" | tr '|' ' '; else echo etcd kube-{apiserver,controller-manager,scheduler}; fi); do
  if [ "$1" = ps ]; then id "$name"; elif [[ $* == *$(id "$name")* ]]; then echo . >>"$STORE/started.$name"; fi
done`,
  timedatectl: "",
  snap: "",
  // iproute2: a link that is not there has no address, and cannot be deleted. The next pod's plug-in makes the bridge with
  // the range in flannel's file (flannel-io/cni-plugin: flannel.go, cmdAdd).
  ip: `
[[ $* == *cni0* || $* == *flannel.1* ]] || exec /sbin/ip "$@"
case "$*" in
  *"route show"*) cat "$STORE/routes" 2>/dev/null; exit ;;
  *"route delete"*) sed -i "\\|^$3 |d" "$STORE/routes"; exit ;;
esac
[ -e "$STORE/bridge" ] || { echo 'Device "cni0" does not exist.' >&2; exit 1; }
case "$*" in *"link delete"*) grep -q SUBNET=10.244.0.1/ /run/flannel/subnet.env 2>/dev/null || rm "$STORE/bridge" ;; *) echo '4: cni0    inet 10.244.0.1/24 brd 10.244.0.255 scope global cni0' ;; esac`,
  sleep: '[ ! -x "$STORE/on-sleep" ] || "$STORE/on-sleep"',
  df: 'if [ -e "$STORE/free" ]; then echo Avail; cat "$STORE/free"; else exec /bin/df "$@"; fi',
  mountpoint: 'exec /bin/mountpoint "$@"',
  kubeadm: `
case "$*" in
  *"addon coredns"*) [ ! -e "$STORE/own-dns" ] || { echo "start version '1.14.3' not supported" >&2; exit 1; } ;;
  *"images list"*) echo registry.k8s.io/etcd:3.6.14-0; echo registry.k8s.io/coredns/coredns:v1.14.2 ;;
  *"certs renew all"*)
    echo >>"$STORE/renewals"
    openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -subj /CN=new -keyout /dev/null \\
      -days "$(wc -l <"$STORE/renewals")00" -out "$STORE/new" 2>/dev/null
    for name in apiserver{,-etcd-client,-kubelet-client} front-proxy-client etcd/{server,peer,healthcheck-client}; do
      cp "$STORE/new" "/etc/kubernetes/pki/$name.crt"
    done
    for name in admin controller-manager scheduler; do
      printf '    client-certificate-data: %s\\n' "$(base64 --wrap 0 <"$STORE/new")" >"/etc/kubernetes/$name.conf"
    done ;;
  *"certs all"*)
    mkdir -p /etc/kubernetes/pki/etcd
    for name in apiserver etcd/server etcd/healthcheck-client; do touch /etc/kubernetes/pki/$name.{crt,key}; done ;;
  *"kubeconfig kubelet"*) touch /etc/kubernetes/kubelet.conf ;;
  *"kubeconfig all"*) for name in admin super-admin kubelet; do touch /etc/kubernetes/$name.conf; done ;;
  *"etcd local"*) mkdir -p /etc/kubernetes/manifests; touch /etc/kubernetes/manifests/etcd.yaml ;;
esac`,
  kubectl: `
case "$*" in
  *" create --raw "*eviction*) cat >"$STORE/created"; [ ! -e "$STORE/refuse" ] || { cat "$STORE/refuse" >&2; exit 1; } ;;
  *" delete "*"--filename -"*) cat >"$STORE/deleted" ;;
  *" create "*) cat >"$STORE/created"; sed -n "s/.*join-place: '\\(.*\\)'/\\1/p" "$STORE/created" >>"$STORE/tokens" ;;
  *" apply "*"--filename -"*) cat >"$STORE/applied" ;;
  *"get secrets"*) [ ! -e "$STORE/tokens" ] || cat "$STORE/tokens" ;;
  *"get --raw /version"*) cat "$STORE/version" ;;
  *"get pods"*tier=control-plane*) seq 4 ;;
  *"get pods"*) printf 'kube-system\\tproxy\\tRunning\\tDaemonSet\\t\\n'; [ ! -e "$STORE/pods" ] || cat "$STORE/pods" ;;
  *"get node "*volumesInUse*) [ ! -e "$STORE/disks" ] || cat "$STORE/disks" ;;
  *"get node "*.metadata.name*)
    name=\${call#* node }; printf '%s|' "\${name%% *}" ;;&
  *"get node "*unschedulable*)
    if grep -q unschedulable..true "$STORE/node" 2>/dev/null; then echo -n true; fi; echo -n '|'; cat "$STORE/labels" 2>/dev/null || echo '{}' ;;
  *"get node "*cordoned*)
    if grep -q cordoned...notice "$STORE/node" 2>/dev/null; then echo -n notice; fi; echo "|$(grep -o fenestra-drain "$STORE/labels" 2>/dev/null)" ;;
  *"get services"*) cat "$STORE/services" 2>/dev/null || echo ClusterIP ;;
  *"set image deployment/coredns"*) rm "$STORE/own-dns" ;;
  *"get node "*.dev/drain*) [ ! -e "$STORE/mark" ] || cat "$STORE/mark" ;;
  *"get node "*spec.podCIDR*) cat "$STORE/range" ;;
  *"patch node "*'"labels":'*null*) rm "$STORE/labels" ;;
  *"patch node "*'"labels":'*) printf %s "\${*: -2:1}" >"$STORE/labels" ;;
  *"patch node "*"--patch "*) printf %s "\${*: -2:1}" >"$STORE/node" ;;
  *"get node "*jsonpath*) echo -n True ;;
esac`,
  etcdutl: `
if [ "$1" = version ]; then echo "etcdutl version: 3.6.14"; exit; fi
if [ "$2" = status ]; then
  grep -q ^snapshot "$3" && echo "{\\"revision\\":7,\\"totalKey\\":1,\\"totalSize\\":9,\\"version\\":\\"$(cat "$STORE/storage" 2>/dev/null)\\"}"; exit
fi
[ ! -e "$STORE/nothing" ] || exit 0
for ((i = 1; i < $#; i++)); do
  if [ "\${!i}" = --data-dir ]; then next=$((i + 1)); mkdir -p "\${!next}/member/wal"; echo restored >"\${!next}/member/wal/0.wal"; fi
done`,
  etcdctl: `
case "$*" in
  *"member list"*) [ -e "$STORE/members" ] && cat "$STORE/members" ;;
  *"member remove"*) sed -i "/^\${*: -1},/d" "$STORE/members" ;;
  *"member add"*)
    url=$(grep -o 'peer-urls=[^ ]*' <<<"$*"); echo "99, unstarted, , \${url#*=}, , true" >>"$STORE/members" ;;
  *"member promote"*) sed -i 's/true$/false/' "$STORE/members" ;;
  *"snapshot save"*) printf 'snapshot\\n%032d' 0 | give >"\${*: -1}" ;;
  *"endpoint status"*) cat "$STORE/status" ;;
  *"get /registry/secrets/"*) [ ! -e "$STORE/etcd" ] || cat "$STORE/etcd" ;;
  *"alarm list"*) [ ! -e "$STORE/alarms" ] || cat "$STORE/alarms" ;;
esac`,
  curl: `
output=/dev/stdout body= url= status=200 code= method=GET
while (($#)); do
  case $1 in
    --output) output=$2; shift ;;
    --write-out) code=1; shift ;;
    --data-binary) body=\${2#@}; shift ;;
    --config) cat >>"$STORE/configs"; shift ;;
    --upload-file) body=$2; shift ;;
    --request | -X) method=$2; shift ;;
    --header | -H | --data | --data-urlencode | --max-time | --connect-timeout | --noproxy | --cacert | --retry | --retry-max-time) shift ;;
    --aws-sigv4) shift ;;
    http*) url=$1 ;;
  esac
  shift
done
missing() { echo 'curl: (22) The requested URL returned error: 404' >&2; exit 22; }
answer() {
  if [ "$status" != 200 ] && [ -z "$code" ]; then missing; fi
  give >"$output" || exit 23
  if [ -n "$code" ]; then printf %s "$status"; fi
}
file() { echo "$STORE/secrets/\${1//\\//_}"; }
case $url in
  */api/token) echo -n session | answer ;;
  */security-credentials/) echo -n role | answer ;;
  */security-credentials/role) echo '{"AccessKeyId":"AKID","SecretAccessKey":"SECRETKEY","Token":"SESSIONTOKEN"}' | answer ;;
  */meta-data/instance-id) if [ -e "$STORE/page" ]; then answer <"$STORE/page"; else echo -n i-0123456789abcdef0 | answer; fi ;;
  */placement/availability-zone) echo -n eu-central-1a | answer ;;
  */target-lifecycle-state) [ -e "$STORE/notice" ] || missing; cat "$STORE/notice" | answer ;;
  */spot/instance-action) [ -e "$STORE/spot" ] || missing; cat "$STORE/spot" | answer ;;
  */maintenance/scheduled) { cat "$STORE/maintenance" 2>/dev/null || echo '[]'; } | answer ;;
  */local-ipv4) cat "$STORE/address" | answer ;;
  */metadata/instance/compute/name*) cat "$STORE/instance-name" | answer ;;
  */metadata/instance*) cat "$STORE/instance" | answer ;;
  */metadata/scheduledevents*) [[ $call == *"--data "* ]] || answer <"$STORE/events" ;;
  */oauth2/token*) echo '{"access_token":"BEARER","expires_in":"1"}' | answer ;;
  https://ssm.*)
    name=$(sed -n 's/.*"Name":"\\([^"]*\\)".*/\\1/p' "$body")
    if grep -q '"Path"' "$body"; then python3 -I -c '
import json, os, sys
body, store = json.load(open(sys.argv[1])), sys.argv[2]
names = sorted(each.replace("_", "/") for each in os.listdir(store) if not each.endswith(".body"))
names = [each for each in names if each.startswith(body["Path"] + "/") and each > body.get("NextToken", "")]
read = lambda name: open(store + "/" + name.replace("/", "_")).read()
page = [{"Name": each, "Version": 1 if read(each) == "placeholder" else 2} for each in names[:2]]
print(json.dumps({"Parameters": page, **({"NextToken": names[1]} if names[2:] else {})}))' "$body" "$STORE/secrets" | answer
    elif grep -q '"WithDecryption"' "$body"; then
      if [ -e "$(file "$name")" ]; then
        { printf '{"Parameter":{"Name":"x","Value":"'; awk '{ gsub(/"/, "\\\\\\""); printf "%s\\\\n", $0 }' "$(file "$name")"; printf '"}}'; } | answer
      else status=400; echo '{"__type":"ParameterNotFound"}' | answer; fi
    else sed 's/.*"Value"://' "$body" >"$STORE/put"; cp "$body" "$(file "$name").body"
      python3 -I -c 'import json, sys; open(sys.argv[2], "w").write(json.load(open(sys.argv[1]))["Value"])' "$body" "$(file "$name")"
      echo '{}' | answer; fi ;;
  */secrets\\?*) if [ -e "$STORE/vault" ]; then answer <"$STORE/vault"; else
    printf '{"value":[{"id":"%s/join","attributes":{}}],"nextLink":null}' "\${url%%\\?*}" | answer; fi ;;
  */secrets/*)
    name=\${url#*/secrets/}; name=\${name%%\\?*}
    if [ "$method" = PUT ]; then sed 's/.*"value"://' "$body" >"$STORE/put"; echo '{}' | answer
    elif [ -e "$(file "$name")" ]; then
      { printf '{"value":"'; awk '{ gsub(/"/, "\\\\\\""); printf "%s\\\\n", $0 }' "$(file "$name")"; printf '","id":"x"}'; } | answer
    else status=404; echo '{"error":{"code":"SecretNotFound"}}' | answer; fi ;;
  *.db.gz) if [ "$method" = GET ]; then { if [ -e "$STORE/snapshot" ]; then cat "$STORE/snapshot"; else echo snapshot; fi; } | gzip | answer
    else [ -z "$body" ] || cp "$body" "$STORE/uploaded"; : | answer; fi ;;
  *:2381/livez) echo ok | answer ;;
  */livez) [ -e "$STORE/live" ] || exit 7; echo ok | answer ;;
  *:2381/health) exit 7 ;;
  */readyz) echo ok | answer ;;
  https://autoscaling.*) echo '<ok/>' | answer ;;
  https://*scripts*.s3.*/linux/*.json)
    if [ -e "$STORE/denied" ]; then status=403; echo '<Code>AccessDenied</Code>' | answer
    else answer <"$STORE/artifacts/\${url##*/}"; fi ;;
  *.s3.*"list-type=2"* | *.blob.*"comp=list"*)
    marker=$(sed -nE 's/.*[?&](continuation-token|marker)=([^&]*).*/\\2/p' <<<"\${url//+/ }")
    page=$STORE/list$(printf %b "\${marker//%/\\\\x}" | tr / _)
    if [ -e "$page" ]; then answer <"$page"; else status=400; echo '<Error/>' | answer; fi ;;
  *) if [ -e "$STORE/artifacts/\${url##*/}" ]; then answer <"$STORE/artifacts/\${url##*/}"; else status=404; answer </dev/null; fi ;;
esac`,
};

/** The scripts by name. */
export const fakes: Readonly<Record<string, string>> = Object.fromEntries(
  Object.entries({ ...kernelAndDisk, ...scripts }).map(([name, text]) => {
    const given = name === "curl" ? 'main "$@"' : `main "$@" | give; exit "\${PIPESTATUS[0]}"`;
    return [name, `${preamble}main() {\n:\n${text}\n}\nif [ -z "$wrong" ]; then main "$@"; else ${given}; fi\n`];
  }),
);
