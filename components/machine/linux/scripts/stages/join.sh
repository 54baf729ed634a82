#!/usr/bin/env bash
# Reads the join secret with the machine's identity, waits for a fresh one, and writes the kubelet's bootstrap kubeconfig.
# shellcheck source=../lib.sh
. /opt/fenestra/lib.sh

workplace join

fresh() {
  local expires end
  secret_get "$JOIN_SECRET" >"$work/secret" || return 1
  if ! expires=$(json_text expires <"$work/secret"); then
    log "no join secret has been published yet"
    return 1
  fi
  end=$(moment "$expires") || return 1
  if ((end <= $(date +%s) + JOIN_MARGIN)); then
    log "the join secret has expired at $expires; waiting for the next one"
    return 1
  fi
}
retry "$JOIN_ATTEMPTS" 2 fresh || die "there is no join secret that is fresh"

# shellcheck disable=SC2034 # fill reads these by name
{
  API_SERVER=$(json_text server <"$work/secret")
  TOKEN=$(json_text token <"$work/secret")
  json_text caCertificate <"$work/secret" >"$work/ca"
  openssl x509 -in "$work/ca" -noout
  CA_DATA=$(base64 --wrap 0 <"$work/ca")
}
install -d -m 0755 /etc/kubernetes /etc/kubernetes/pki
put 0644 /etc/kubernetes/pki/ca.crt <"$work/ca"
fill /etc/fenestra/bootstrap-kubelet.conf 0600 /etc/kubernetes/bootstrap-kubelet.conf API_SERVER CA_DATA TOKEN
log "joining $API_SERVER"
