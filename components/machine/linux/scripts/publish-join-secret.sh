#!/usr/bin/env bash
# Creates a bootstrap token that is valid for JOIN_TOKEN_TTL seconds and publishes it where workers read it with their identity. The token
# appears on no command line and in no log.
# shellcheck source=lib.sh
. /opt/fenestra/lib.sh

umask 077
work=$(mktemp -d "$scratch/publish.XXXXXX")
trap 'rm -rf "$work"' EXIT
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

# known: whether the cluster still has the token that is published: after a restore of etcd, or when somebody deleted
# it, it has not.
known() {
  local token
  token=$(json_text token <"$work/current") && [[ $token =~ ^[a-z0-9]{6}\. ]] &&
    [[ -n $(admin get secret "bootstrap-token-${token%%.*}" --ignore-not-found --output name) ]]
}

# This job runs on each control-plane machine, every hour.
tell_failed || log "nobody was told which units have failed"

# Another control-plane machine may have just published: then its secret stays valid for at least as long as workers
# need.
now=$(date +%s)
if secret_get "$JOIN_SECRET" >"$work/current" && current=$(json_text expires <"$work/current") &&
  end=$(moment "$current") && ((end > now + JOIN_TOKEN_TTL - JOIN_INTERVAL / 2 && end < now + 2 * JOIN_TOKEN_TTL)) && known; then
  log "the published join secret is good until $current"
  exit 0
fi

id=$(random 6)
secret=$(random 16)
expires=$(stamp "$((now + JOIN_TOKEN_TTL))")

printf '%s\n' 'apiVersion: v1' 'kind: Secret' 'type: bootstrap.kubernetes.io/token' 'metadata:' "  name: bootstrap-token-$id" \
  '  namespace: kube-system' '  labels:' "    fenestra.dev/join-token: '$ETCD_NAME'" 'stringData:' "  token-id: '$id'" \
  "  token-secret: '$secret'" "  expiration: '$expires'" "  usage-bootstrap-authentication: 'true'" \
  "  auth-extra-groups: system:bootstrappers:fenestra:workers" >"$work/token.yaml"
create() { admin create --filename - <"$work/token.yaml" >/dev/null; }
retry "$PUBLISH_ATTEMPTS" 1 create || die "the bootstrap token cannot be made"

hash=$(openssl x509 -in /etc/kubernetes/pki/ca.crt -pubkey -noout | openssl pkey -pubin -outform DER | sha256sum | cut -d' ' -f1)
{
  printf '{"server":"https://%s:%s","caCertificate":' "$API_HOST" "$API_PORT"
  json_quote </etc/kubernetes/pki/ca.crt
  printf ',"caCertHash":"sha256:%s","token":"%s.%s","expires":"%s"}' "$hash" "$id" "$secret" "$expires"
} >"$work/secret"
publish() { secret_put "$JOIN_SECRET" <"$work/secret"; }
if ! retry "$PUBLISH_ATTEMPTS" 1 publish; then
  admin delete secret "bootstrap-token-$id" --ignore-not-found >/dev/null || true
  die "the join secret cannot be published"
fi
log "published a join secret that is good until $expires"

# Expired tokens. A token is kept until then: a worker may have read it just now.
admin get secrets --selector fenestra.dev/join-token \
  --output 'jsonpath={range .items[*]}{.metadata.name}{" "}{.data.expiration}{"\n"}{end}' |
  while read -r name encoded; do
    if end=$(moment "$(base64 --decode <<<"$encoded")") && ((end <= now)); then admin delete secret "$name" --ignore-not-found >/dev/null; fi
  done
