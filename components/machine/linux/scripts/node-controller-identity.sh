#!/usr/bin/env bash
# node-controller-identity.sh <folder> <file>: issues the node controller's certificate for a week into its own folder, and empties the file of
# its metrics, before each of its starts.
# The controller sees neither the authority's key nor an administrator's kubeconfig.
# shellcheck source=lib.sh
. /opt/fenestra/lib.sh

pki=/etc/kubernetes/pki
workplace nodes
openssl req -new -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -keyout "$work/key" -out "$work/request" \
  -subj /CN=fenestra:node-controller 2>"$scratch/openssl" ||
  die "the node controller's key cannot be made: $(tail -n 1 "$scratch/openssl")"
printf 'keyUsage=critical,digitalSignature\nextendedKeyUsage=clientAuth\n' >"$work/extensions"
openssl x509 -req -in "$work/request" -CA "$pki/ca.crt" -CAkey "$pki/ca.key" -set_serial "0x$(openssl rand -hex 16)" -days 7 -sha256 \
  -extfile "$work/extensions" -out "$work/certificate" 2>"$scratch/openssl" ||
  die "the node controller's certificate cannot be signed: $(tail -n 1 "$scratch/openssl")"
put 0400 "$1/client.pem" < <(cat "$work/certificate" "$work/key")
put 0400 "$1/ca.crt" <"$pki/ca.crt"
chown --reference="$1" "$1/client.pem" "$1/ca.crt"
{ put 0644 "$2" </dev/null && chown --reference="$1" "$2"; } || log "the node controller has no file for its metrics"
