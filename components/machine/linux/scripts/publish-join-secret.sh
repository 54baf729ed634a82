#!/usr/bin/env bash
# Gives each pool a bootstrap token of its own, valid for JOIN_TOKEN_TTL seconds, where its machines alone read it. It appears on no command
# line and in no log.
# shellcheck source=lib.sh
. /opt/fenestra/lib.sh

workplace publish
admin() { kube admin --namespace kube-system "$@"; }

stamp() { date -u -d "@$1" +%Y-%m-%dT%H:%M:%SZ; }

# random <length>: of the characters allowed in a bootstrap token.
random() {
  local text=
  while ((${#text} < $1)); do
    text+=$(head -c 256 /dev/urandom | LC_ALL=C tr -dc 'a-z0-9')
  done
  printf '%s' "${text:0:$1}"
}

# publish <place> <pool>: the token's groups tell the node controller for whose machines it is.
publish() {
  local id secret
  id=$(random 6)
  secret=$(random 16)
  printf '%s\n' 'apiVersion: v1' 'kind: Secret' 'type: bootstrap.kubernetes.io/token' 'metadata:' "  name: bootstrap-token-$id" \
    '  namespace: kube-system' '  labels:' "    fenestra.dev/join-pool: '$2'" \
    '  annotations:' "    fenestra.dev/join-place: '$1'" 'stringData:' "  token-id: '$id'" \
    "  token-secret: '$secret'" "  expiration: '$expires'" "  usage-bootstrap-authentication: 'true'" \
    "  auth-extra-groups: system:bootstrappers:fenestra:workers${2:+,system:bootstrappers:fenestra:pool:$2}" |
    admin create --filename - >/dev/null
  if ! printf '{"server":"https://%s:%s","caCertificate":%s,"caCertHash":"sha256:%s","token":"%s.%s","expires":"%s"}' \
    "$API_HOST" "$API_PORT" "$ca" "$hash" "$id" "$secret" "$expires" | secret_put "$1"; then
    admin delete secret "bootstrap-token-$id" --ignore-not-found >/dev/null || true
    die "the join secret $1 cannot be published"
  fi
  log "published the join secret $1, good until $expires"
}

# This job runs on each control-plane machine. The cloud controller deletes the Node of one that EC2 does not show yet
# (kubernetes/kubernetes#81636).
if ! tell_failed; then
  log "nobody was told which units have failed"
  if [[ -e $state/done/node && $(kube kubelet get node "$NODE_NAME" 2>&1) == *NotFound* ]]; then
    { systemctl restart kubelet.service && /opt/fenestra/stages/node.sh; } || log "the Node was deleted and is not made again"
  fi
fi

now=$(date +%s)
expires=$(stamp "$((now + JOIN_TOKEN_TTL))")
hash=$(openssl x509 -in /etc/kubernetes/pki/ca.crt -pubkey -noout | openssl pkey -pubin -outform DER | sha256sum | cut -d' ' -f1)
ca=$(json_quote </etc/kubernetes/pki/ca.crt)
# Places whose token lasts as long as workers need: another machine may have just published it. After a restore of etcd,
# or when somebody deleted it, the cluster has none. A vault keeps the place of a pool that was removed, beside that of
# one with its name that was added later.
admin get secrets --selector fenestra.dev/join-pool --output "go-template={{range .items}}\
{{\$end := base64decode .data.expiration}}{{if and (gt \$end \"$(stamp "$((now + JOIN_TOKEN_TTL - JOIN_INTERVAL / 2))")\")\
 (lt \$end \"$(stamp "$((now + 2 * JOIN_TOKEN_TTL))")\")}}\
{{with .metadata.annotations}}{{index . \"fenestra.dev/join-place\"}}{{end}}{{\"\\n\"}}{{end}}{{end}}" >"$work/known"
failed=0
next=
while :; do
  status=$(secrets_page "$work/page" "$next") || status=000
  [[ $status == 200 ]] || die "the list of join secrets was answered with $status"
  # Marker of the next page; then for each place whether it was never written, its name and its pool. Only that of the
  # release before has none.
  python3 -I - "$work/page" "$JOIN_SECRET" >"$work/places" <<'EOF'
import json, re, sys
page = json.loads(open(sys.argv[1]).read().replace(".net:443/", ".net/"))
print(page.get("NextToken") or page.get("nextLink") or "")
for each in page.get("Parameters") or page.get("value") or ():
    name = each.get("Name") or each["id"]
    pool = re.fullmatch(re.escape(sys.argv[2]) + "(?:/(.+)|-(.+)-.{8})?", name)
    if pool:
        print("new" if each.get("Version") == 1 else "old", name, pool[1] or pool[2] or "")
EOF
  {
    read -r next
    while read -r state place pool; do
      if [[ $state == old ]] && grep -qxF -- "$place" "$work/known"; then continue; fi
      # What fails for one pool stops no other.
      publish "$place" "$pool" &
      wait "$!" || failed=1
    done
  } <"$work/places"
  [[ -n $next ]] || exit "$failed"
done
