#!/usr/bin/env bash
# Runs the stages of /etc/fenestra/stages.tsv in order: name, exit code, hash of what the stage depends on, `once` or `always`.
# A stage completed for the same hash is skipped, so this can be run again at any point. A failed stage ends the run with its exit code; the unit
# then retries the run with growing pauses.
set -euo pipefail

done_markers=/var/lib/fenestra/done
log_file=/var/log/fenestra/bootstrap.log
install -d -m 0755 "$done_markers" "${log_file%/*}" /run/fenestra

# A full disk costs the log, not the bootstrap: tee goes on with its output.
say() { printf '%s bootstrap %s\n' "$(date -u +%Y-%m-%dT%H:%M:%SZ)" "$*" | tee -a "$log_file" || true; }

# Only one run at a time; a second one waits for the first and then has nothing left to do. Stages do not inherit the lock, because their
# background processes would hold it for ever.
exec 9>/run/fenestra/bootstrap.lock
flock 9
# Of a run that was killed, keys among them.
rm -rf /run/fenestra/{secrets,join,credentials,encryption,get}.??????
if [[ -f $log_file && $(stat --format %s "$log_file") -gt 10000000 ]]; then mv -f "$log_file" "$log_file.1"; fi

run_stage() {
  local name=$1 code=$2 hash=$3 mode=$4 marker=$done_markers/$1 started status=0
  if [[ $mode == once && -f $marker && $(tr -d '\0' <"$marker") == "$hash" ]]; then
    say "$name: already done"
    return 0
  fi
  rm -rf "$marker"
  say "$name: begins"
  started=$SECONDS
  bash "/opt/fenestra/stages/$name.sh" </dev/null 9>&- 2>&1 | tee -a "$log_file" && true
  status=${PIPESTATUS[0]}
  if ((status != 0)); then
    say "$name: failed after $((SECONDS - started)) s with status $status; exit code $code"
    exit "$code"
  fi
  { printf '%s\n' "$hash" >"$marker.new" && sync "$marker.new" && mv -f "$marker.new" "$marker"; } || say "$name: not marked as done"
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
say "all stages are done"
