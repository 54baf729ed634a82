#!/usr/bin/env bash
# Functions for every stage. A stage sources this file first; it loads the machine's data and the cloud's functions.
# shellcheck disable=SC2034 # variables are used by the scripts that source this file
set -euo pipefail

state=/var/lib/fenestra
scratch=/run/fenestra
install -d -m 0755 "$state" "$state/done" "$state/metrics"
install -d -m 0700 "$scratch"

# values <file> [NAME...]: the variables of a file of NAME=value lines, all or those named. It is read, not executed: of
# a torn one the whole lines count, and the last has no end.
values() {
  local name value
  while IFS='=' read -r name value; do
    [[ $name =~ ^[A-Za-z][A-Za-z0-9_]*$ ]] || continue
    if (($# > 1)) && [[ " ${*:2} " != *" $name "* ]]; then continue; fi
    if [[ $value == \'*\' ]]; then
      value=${value:1:-1}
      value=${value//"'\\''"/"'"}
    fi
    printf -v "$name" %s "$value"
  done < <(tr -d '\0' <"$1")
}
values /etc/fenestra/machine.env
if [[ -f $state/identity.env ]]; then values "$state/identity.env" NODE_NAME PROVIDER_ID NODE_IP; fi

log() { printf '%s %s\n' "$(date -u +%Y-%m-%dT%H:%M:%SZ)" "$*" >&2; }

die() {
  log "error: $*"
  exit 1
}

# retry <attempts> <first pause in seconds> <command...>: the pause doubles up to RETRY_PAUSE_MAX.
retry() {
  local attempts=$1 pause=$2 attempt
  shift 2
  for ((attempt = 1; ; attempt++)); do
    if "$@"; then return 0; fi
    if ((attempt >= attempts)); then return 1; fi
    sleep "$pause"
    pause=$((pause * 2 > RETRY_PAUSE_MAX ? RETRY_PAUSE_MAX : pause * 2))
  done
}

# poll <attempts> <command...>: once a second, for services on this machine or next to it.
poll() {
  local attempts=$1 attempt
  shift
  for ((attempt = 1; attempt <= attempts; attempt++)); do
    if "$@"; then return 0; fi
    sleep 1
  done
  return 1
}

# put <mode> <path>: writes standard input to the file atomically, so that readers never see half of it, also after a
# power failure.
put() {
  mkdir -p "${2%/*}"
  if [[ -d $2 ]]; then rm -rf "$2"; fi
  if ! { cat >"$2.new" && chmod "$1" "$2.new" && sync "$2.new"; }; then
    rm -f "$2.new"
    return 1
  fi
  mv -f "$2.new" "$2"
  # What the stage has made, for its mark.
  if [[ -n ${STAGE:-} ]]; then printf '%s\n' "$2" >>"$scratch/made.$STAGE" || true; fi
}

# kube <name of a kubeconfig> <arguments...>: kubectl with a limit. Its own covers no peer that never speaks TLS, and it
# asks several times.
kube() {
  timeout --foreground --kill-after=2 "$((2 * KUBE_SECONDS))" kubectl --kubeconfig "/etc/kubernetes/$1.conf" "${@:2}" \
    --request-timeout="${KUBE_SECONDS}s"
}
KUBE_SECONDS=30

# node_ready: whether this machine's own node is Ready, asked with the kubelet's own certificate. The reason is in
# $answer: no file, since /run may be full.
node_ready() {
  answer=$(KUBE_SECONDS=5 kube kubelet get node "$NODE_NAME" \
    --output 'jsonpath={.status.conditions[?(@.type=="Ready")].status}' 2>&1) && [[ $answer == *True ]]
}

# tell_failed: writes on this machine's own Node which units have failed, where `fenestra verify` sees them; one that
# waits for its restart has too.
tell_failed() {
  local failed
  failed=$(timeout --foreground 10 systemctl show --property Id,Result 'fenestra-*.service' |
    awk -F= 'NF { of[$1] = $2; next } { end() } END { end() }
      function end() { if (of["Result"] !~ /^(success)?$/) print of["Id"]; of["Result"] = "" }' | paste --serial --delimiters=,) || return 1
  if [[ -e $scratch/overdue ]]; then failed+=${failed:+,}fenestra-drain.service; fi
  if [[ $failed == "${told-unknown}" ]]; then return 0; fi
  KUBE_SECONDS=5 kube kubelet annotate node "$NODE_NAME" --overwrite "fenestra.dev/failed${failed:+=}${failed:--}" >/dev/null && told=$failed
}

# has_form <value> <regular expression>...: whether each value has the form it must have: a busy service may answer with
# a page.
has_form() {
  while (($# > 1)); do
    [[ $1 =~ ^($2)$ ]] || { log "error: '${1:0:80}' is not an answer"; return 1; }
    shift 2
  done
}

# moment <time>: its seconds since 1970; date(1) alone takes "next year" too, and nothing for today.
moment() { has_form "$1" '[0-9]{4}(-[0-9]{2}){2}T[0-9]{2}(:[0-9]{2}){2}(\.[0-9]+)?Z' && date -d "$1" +%s; }

# own_script <name>: a script of the user, with a limit. Its output goes to a file: what it leaves running would hold a
# pipe open for ever.
own_script() {
  own_log=/var/log/fenestra/own-$1.log
  timeout --kill-after=10 1500 bash "/opt/fenestra/own/$1.sh" </dev/null >"$own_log" 2>&1
}

# fill <template> <mode> <path> <NAME...>: replaces every @NAME@ with the value of the variable. A missing value is an
# error.
fill() {
  local content name mode=$2 path=$3
  content=$(<"$1")
  shift 3
  for name in "$@"; do
    if [[ -z ${!name:-} ]]; then
      log "error: $name is not known yet"
      return 1
    fi
    content=${content//"@${name}@"/"${!name}"}
  done
  printf '%s\n' "$content" | put "$mode" "$path"
}

# json_text <key>: the first string with that key in the JSON document on standard input, decoded. Fails when there is
# none.
json_text() {
  LC_ALL=C awk -v key="$1" '
    { doc = doc $0 "\n" }
    END {
      if (!match(doc, "\"" key "\"[ \t\r\n]*:[ \t\r\n]*\"")) exit 1
      rest = substr(doc, RSTART + RLENGTH)
      out = ""
      while (match(rest, /["\\]/)) {
        out = out substr(rest, 1, RSTART - 1)
        mark = substr(rest, RSTART, 1)
        rest = substr(rest, RSTART + 1)
        if (mark == "\"") { printf "%s", out; exit 0 }
        code = substr(rest, 1, 1)
        rest = substr(rest, 2)
        if (code == "n") out = out "\n"
        else if (code == "t") out = out "\t"
        else if (code == "r") out = out "\r"
        else if (code == "b" || code == "f") out = out " "
        else if (code == "u") {
          value = 0
          for (i = 1; i <= 4; i++) value = value * 16 + index("0123456789abcdef", tolower(substr(rest, i, 1))) - 1
          rest = substr(rest, 5)
          out = out (value < 128 ? sprintf("%c", value) : "?")
        }
        else out = out code
      }
      exit 1
    }'
}

# json_quote: standard input as a JSON string, including its last newline.
json_quote() {
  LC_ALL=C awk '
    {
      gsub(/\\/, "&&"); gsub(/"/, "\\\""); gsub(/\t/, "\\t"); gsub(/\r/, "\\r")
      line = line $0 "\\n"
    }
    END { printf "\"%s\"", line }'
}

# Secrets never appear on a command line: curl reads them from a configuration on its standard input.
fetch() { curl --silent --show-error --fail --connect-timeout 5 --max-time "$FETCH_TIMEOUT" "$@"; }

# metadata <curl arguments...>: the cloud's metadata service is never reached through a proxy.
metadata() { curl --silent --show-error --fail --noproxy '*' --connect-timeout 2 --max-time 5 "$@"; }

# local_api <path>: response of this machine's API server.
local_api() { curl --silent --fail --max-time 5 --cacert /etc/kubernetes/pki/ca.crt "https://127.0.0.1:${API_PORT}$1"; }

# workplace <name>: a folder for this script alone, which goes with it.
workplace() {
  umask 077
  work=$(mktemp -d "$scratch/$1.XXXXXX")
  trap 'rm -rf "$work"' EXIT
}

# secret_get <name, on Azure URL>: prints the value. Exits with 44 when there is no such secret, with 1 on any other
# failure.
secret_get() {
  local work status result=0
  work=$(mktemp -d "$scratch/get.XXXXXX") || return 1
  status=$(ask_secret "$1" "$work") || status=000
  if [[ $status == 200 ]]; then
    secret_value <"$work/answer" || result=$?
  elif [[ -e $work/answer ]] && grep -Eq 'ParameterNotFound|SecretNotFound' "$work/answer"; then
    result=44
  else
    log "error: reading $1 was answered with $status"
    result=1
  fi
  rm -rf "$work"
  return "$result"
}

# secret_put <name, on Azure URL>: standard input becomes the value.
secret_put() {
  local work status
  work=$(mktemp -d "$scratch/put.XXXXXX") || return 1
  status=$(put_secret "$1" "$work") || status=000
  if [[ $status != 200 ]]; then log "error: writing $1 was answered with $status $(json_text '(__type|code)' <"$work/answer" || true)"; fi
  rm -rf "$work"
  [[ $status == 200 ]]
}

# answered <HTTP status> <what> <command...>: whether the command prints that status.
answered() {
  local status
  status=$("${@:3}") || return 1
  [[ $status == "$1" ]] || { log "error: $2 was answered with $status"; return 1; }
}

# shellcheck source=/dev/null
. /opt/fenestra/cloud.sh
