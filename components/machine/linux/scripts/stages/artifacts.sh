#!/usr/bin/env bash
# Downloads every program in /etc/fenestra/artifacts.tsv in parallel. Nothing is unpacked before its digest is verified.
# shellcheck source=../lib.sh
. /opt/fenestra/lib.sh

if [[ -e /etc/fenestra/proxy.env ]]; then
  values /etc/fenestra/proxy.env
  export HTTP_PROXY HTTPS_PROXY NO_PROXY http_proxy CURL_HOME
fi

downloads=$state/downloads
installed=$state/artifacts
install -d "$downloads" "$installed"

# digest_of <checksum URL> <file name>: from a file with the digest alone, or with one line per file.
digest_of() {
  fetch --location "$1" | awk -v file="$2" '
    NF == 1 && found == "" { found = $1 }
    NF > 1 { name = $2; sub(/^\*/, "", name); sub(/.*\//, "", name); if (name == file) found = $1 }
    END { if (found == "") exit 1; print found }'
}

# install_one <name> <url> <algorithm> <digest> <checksum url> <kind> <destination> <strip> <members>
install_one() {
  local name=$1 url=$2 algorithm=$3 digest=$4 checksum=$5 kind=$6 destination=$7 strip=$8 members=$9 file
  if [[ -f $installed/$name && $(tr -d '\0' <"$installed/$name") == "$url $digest" ]]; then return 0; fi
  file=$downloads/$name
  fetch --location --retry 5 --retry-all-errors --retry-max-time 300 --max-time 600 --output "$file" "$url" || return 1
  if [[ $digest == - ]]; then digest=$(digest_of "$checksum" "${url##*/}") || return 1; fi
  if ! printf '%s  %s\n' "$digest" "$file" | "${algorithm}sum" --check --status; then
    rm -f "$file"
    log "error: $name from $url has not the digest $algorithm:$digest"
    return 1
  fi
  install -d "$destination" || return 1
  if [[ $kind == binary ]]; then
    install -m 0755 "$file" "$destination/$name" || return 1
  else
    local -a wanted=()
    if [[ $members != - ]]; then IFS=, read -r -a wanted <<<"$members"; fi
    tar --extract --gzip --no-same-owner --file "$file" --directory "$destination" --strip-components "$strip" \
      --wildcards "${wanted[@]}" || return 1
  fi
  rm -f "$file"
  printf '%s %s\n' "$url" "$4" | put 0644 "$installed/$name"
}

declare -A jobs=()
while IFS=$'\t' read -r -a row; do
  install_one "${row[@]}" &
  jobs[${row[0]}]=$!
done </etc/fenestra/artifacts.tsv

failed=
for name in "${!jobs[@]}"; do
  wait "${jobs[$name]}" || failed+=" $name"
done
if [[ -n $failed ]]; then die "could not be installed:$failed"; fi
