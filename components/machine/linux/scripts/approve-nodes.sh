#!/usr/bin/env bash
# Approves the workers' first client certificates. kubeadm has the controller-manager approve every request made with a bootstrap token, under
# any name, so that any worker, since it can read the join secret, could become any node (kubernetes/kubernetes,
# pkg/controller/certificates/approver). Our tokens are in a group for which it does not. This script approves a name only for a machine that the
# cloud lists as a worker of this cluster, that was started recently, and that has no node yet; and only for one request, the newest: a kubelet
# that starts again before it has its certificate asks with another key and has forgotten the first. Later certificates are left to the
# controller-manager again: a node requests them in its own name.
# shellcheck source=lib.sh
. /opt/fenestra/lib.sh
# shellcheck source=admin.sh
. /opt/fenestra/admin.sh

work=$(mktemp -d "$scratch/approve.XXXXXX")
trap 'rm -rf "$work"' EXIT
api=/apis/certificates.k8s.io/v1/certificatesigningrequests
declare -A said=()

# Lines, newest request first. `given` <node> <time of the request>: approved by this script. `asks` <request> <uid> <version> <time> <DER in
# base64>: undecided; `wrong` is one that cannot be a kubelet's. The text of a request must be exactly one PEM block, since openssl and Go skip
# different things around it, and requests may have any name.
rows() {
  admin get certificatesigningrequests --field-selector spec.signerName=kubernetes.io/kube-apiserver-client-kubelet --output json \
    >"$work/requests" || return 1
  python3 -I - "$work/requests" <<'PYTHON'
import base64, binascii, datetime, json, re, sys
with open(sys.argv[1], encoding="utf-8") as file:
    requests = json.load(file)["items"]
usages = ({"client auth", "digital signature"}, {"client auth", "digital signature", "key encipherment"})
for request in sorted(requests, key=lambda each: -int(each["metadata"]["resourceVersion"])):
    meta, spec, conditions = request["metadata"], request["spec"], request["status"].get("conditions", [])
    time = int(datetime.datetime.strptime(meta["creationTimestamp"], "%Y-%m-%dT%H:%M:%S%z").timestamp())
    for each in conditions:
        given = re.fullmatch(r"first certificate of ([a-z0-9-]{1,63})", each.get("message", ""))
        if each["type"] == "Approved" and each.get("reason") == "FenestraApproved" and given:
            print("given", given[1], time)
    if conditions or "system:bootstrappers:fenestra:workers" not in spec.get("groups", []):
        continue
    if not re.fullmatch(r"system:bootstrap:[a-z0-9]{6}", spec["username"]) or not re.fullmatch(r"[A-Za-z0-9._-]{1,253}", meta["name"]):
        continue
    text = base64.b64decode(spec["request"])
    pem = re.fullmatch(rb"-----BEGIN CERTIFICATE REQUEST-----\n([A-Za-z0-9+/=\n]{1,8192})-----END CERTIFICATE REQUEST-----\n?", text)
    try:
        der = pem and base64.b64decode(pem[1].replace(b"\n", b""), validate=True)
    except binascii.Error:
        der = None
    asks = der and set(spec["usages"]) in usages
    print("asks" if asks else "wrong", meta["name"], meta["uid"], meta["resourceVersion"], time, base64.b64encode(der or b"-").decode())
PYTHON
}

# say <text>: logs once what it is waiting for.
say() {
  if [[ ${said[$request]:-} != "$1" ]]; then log "$1"; fi
  said[$request]=$1
}

# decide <Approved|Denied> <message>: for exactly the object that was examined. Another machine may have decided it just now.
decide() {
  printf '{"apiVersion":"certificates.k8s.io/v1","kind":"CertificateSigningRequest",' >"$work/decision"
  printf '"metadata":{"name":"%s","uid":"%s","resourceVersion":"%s"},' "$request" "$uid" "$version" >>"$work/decision"
  printf '"status":{"conditions":[{"type":"%s","status":"True","reason":"Fenestra%s","message":"%s"}]}}' "$1" "$1" "$2" >>"$work/decision"
  admin replace --raw "$api/$request/approval" --filename - <"$work/decision" >/dev/null || return 1
  log "${1,,} $request: $2"
}

# later <message>: waits for what may still change; a request that is too old is denied.
later() {
  if ((now - time > APPROVE_PATIENCE)); then decide Denied "$1"; else say "$request waits: $1"; fi
}

# reimaged <node>: when replace-notready.sh reimaged the machine, in seconds; empty when it did not. Only where a machine keeps its name.
reimaged() {
  if ! keeps_name; then return 0; fi
  admin get "${replaced[@]}" --ignore-not-found --output "jsonpath={.data['$1']}" | grep -xE '[0-9]{1,12}' || true
}

# consider <DER in base64>: examines the request in $request, $uid, $version, $time.
consider() {
  local node made found pods status=0
  node=$(base64 --decode <<<"$1" | openssl req -inform DER -noout -subject -nameopt RFC2253 2>/dev/null) || node=
  if [[ ! $node =~ ^subject=(CN=system:node:([a-z0-9-]{1,63}),O=system:nodes|O=system:nodes,CN=system:node:([a-z0-9-]{1,63}))$ ]]; then
    decide Denied "not a request for the certificate of a node"
    return
  fi
  node=${BASH_REMATCH[2]}${BASH_REMATCH[3]}
  made=$(reimaged "$node")
  found=$(admin get node "$node" --ignore-not-found --output name) || return 1
  if [[ -n $found && -n $made ]] && ((time > made)); then
    admin delete node "$node" --wait=false >/dev/null || return 1
    log "removed the node $node of a machine that was given a new disk"
    return
  fi
  if [[ -n $found ]]; then
    later "there is a node $node"
    return
  fi
  # Whoever holds this certificate can read what the node's pods may.
  pods=$(admin get pods --all-namespaces --field-selector "spec.nodeName=$node" --output name) || return 1
  if [[ -n $pods ]]; then
    later "there are still pods of a node $node"
    return
  fi
  if [[ -z $made ]]; then made=$(machine_made "$node") || status=$?; fi
  if ((status == 44)); then
    later "the cloud knows no worker $node of this cluster that runs"
  elif ((status != 0)); then
    return 1
  elif ((now - made > NEW_MACHINE)); then
    decide Denied "$node was started too long ago"
  elif ((time < made)); then
    decide Denied "asked for before $node was started"
  elif ((${given[$node]:-0} >= made)); then
    decide Denied "another request for $node was approved"
  else
    decide Approved "first certificate of $node" || return 1
    given[$node]=$time
  fi
}

# look: one round over all requests.
look() {
  local -A given=()
  local -a lines
  local line verb request uid version time der now
  rows >"$work/rows" || return 1
  if ! grep -qE '^(asks|wrong) ' "$work/rows" || ! leads; then return 0; fi
  now=$(date +%s)
  while read -r verb request time; do
    if [[ $verb == given ]] && ((${given[$request]:-0} < time)); then given[$request]=$time; fi
  done <"$work/rows"
  mapfile -t lines <"$work/rows"
  for line in "${lines[@]}"; do
    read -r verb request uid version time der <<<"$line"
    case $verb in
      wrong) decide Denied "not a request as a kubelet makes it" || true ;;
      asks) consider "$der" || say "$request could not be looked at; it is tried again" ;;
    esac
  done
}

while sleep "$APPROVE_PAUSE"; do
  request=
  look || say "the requests for certificates cannot be read"
done
