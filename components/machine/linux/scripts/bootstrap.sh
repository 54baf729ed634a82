#!/usr/bin/env bash
# Runs the stages of /etc/fenestra/stages.tsv in order: name, exit code, hash of what the stage depends on, `once` or
# `always`. A stage completed for the same hash is skipped, so this can be run again at any point. A failed stage ends
# the run with its exit code; the unit then retries the run with growing pauses.
set -euo pipefail

done_markers=/var/lib/fenestra/done
log_file=/var/log/fenestra/bootstrap.log
install -d -m 0755 "$done_markers" "${log_file%/*}" /run/fenestra

# A full disk costs the log, not the bootstrap: tee goes on with its output.
say() { printf '%s bootstrap %s\n' "$(date -u +%Y-%m-%dT%H:%M:%SZ)" "$*" | tee -a "$log_file" || true; }

# Only one run at a time; a second one waits for the first and then has nothing left to do. Stages do not inherit the
# lock, because their background processes would hold it for ever.
exec 9>/run/fenestra/bootstrap.lock
flock 9
# Of a run that was killed, keys among them.
rm -rf /run/fenestra/{secrets,join,credentials,encryption,get}.?????? /run/fenestra/made.*
if [[ -f $log_file && $(stat --format %s "$log_file") -gt 10000000 ]]; then mv -f "$log_file" "$log_file.1"; fi

# mark <marker> <hash> [file with the names of what the stage has made]: all of it is on the disk before the mark is.
mark() {
  local new=$1.new
  if { printf '%s\n' "$2" && sort -u "${3:-/dev/null}" | xargs --no-run-if-empty sha256sum; } >"$new" && sync --file-system "$new"; then
    mv -f "$new" "$1"
  else
    say "${1##*/}: not marked as done"
  fi
}

# whole <marker> <hash>: the stage is done for this hash, and what it has made is as it was when all were done.
whole() {
  [[ -f $1 && $(tr -d '\0' <"$1" | head -n 1) == "$2" ]] || return 1
  [[ -z $(sed 1d "$1") ]] || sed 1d "$1" | sha256sum --check --status 2>/dev/null || { say "${1##*/}: what it has made is torn"; return 1; }
}

run_stage() {
  local name=$1 code=$2 hash=$3 mode=$4 marker=$done_markers/$1 started status=0
  if [[ $mode == once ]] && whole "$marker" "$hash"; then
    say "$name: already done"
    return 0
  fi
  rm -rf "$marker"
  say "$name: begins"
  started=$SECONDS
  if [[ $mode == once ]]; then export STAGE=$name; else unset STAGE; fi
  bash "/opt/fenestra/stages/$name.sh" </dev/null 9>&- 2>&1 | tee -a "$log_file" && true
  status=${PIPESTATUS[0]}
  if ((status != 0)); then
    say "$name: failed after $((SECONDS - started)) s with status $status; exit code $code"
    exit "$code"
  fi
  mark "$marker" "$hash"
  say "$name: done after $((SECONDS - started)) s"
}

last=
while IFS=$'\t' read -r name code hash mode <&8; do
  last=$name
  if [[ $name == end ]]; then break; fi
  run_stage "$name" "$code" "$hash" "$mode"
done 8</etc/fenestra/stages.tsv
if [[ $last != end ]]; then
  say "the table of stages has lost its end"
  exit 1
fi
# Two stages may make one file, so its digest counts at the end.
for made in /run/fenestra/made.*; do
  marker=$done_markers/${made##*.}
  if [[ -s $made && -f $marker ]]; then mark "$marker" "$(head -n 1 "$marker")" "$made"; fi
done
say "all stages are done"
