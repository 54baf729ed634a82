#!/usr/bin/env bash
# Reads the logins for what this machine fetches, with its identity, and makes the files that hold them, for root alone. Runs at each boot:
# the logins may have changed.
# shellcheck source=../lib.sh
. /opt/fenestra/lib.sh

templates=/etc/fenestra/templates
workplace credentials

read_logins() { secret_get "$CREDENTIALS_SECRET" >"$work/logins"; }
# An identity's permissions may take minutes to propagate.
retry 60 2 read_logins || die "the logins for downloads cannot be read"

before=$(sha256sum /etc/fenestra/proxy.env 2>/dev/null || true)
while IFS= read -r template; do
  names=()
  while IFS= read -r name; do
    printf -v "$name" '%s' "$(json_text "$name" <"$work/logins" || true)"
    names+=("$name")
  done < <(grep -o '@LOGIN_[0-9A-Z]*@' "$template" | tr -d @ | sort -u)
  fill "$template" 0600 "${template#"$templates"}" "${names[@]}"
done < <(find "$templates" -type f)

# Its environment has the proxy's login from when it was started.
if [[ -e $state/containerd-started && $(sha256sum /etc/fenestra/proxy.env 2>/dev/null || true) != "$before" ]]; then
  systemctl restart containerd.service
  # The kubelet has it too, for its credential providers, from when it read their configuration.
  if [[ -e $state/kubelet-started && -e /etc/fenestra/credential-providers.yaml ]]; then systemctl try-restart kubelet.service; fi
fi
