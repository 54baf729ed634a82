#!/usr/bin/env bash
# Runs the stages of /etc/fenestra/stages.tsv in order: name, exit code, hash of what the stage depends on, `once` or `always`.
# A stage completed for the same hash is skipped, so this can be run again at any point. A failed stage ends the run with its exit code; the unit
# then retries the run with growing pauses.
set -euo pipefail

done_markers=/var/lib/fenestra/done
log_file=/var/log/fenestra/bootstrap.log
install -d -m 0755 "$done_markers" "${log_file%/*}" /run/fenestra

say() { printf '%s bootstrap %s\n' "$(date -u +%Y-%m-%dT%H:%M:%SZ)" "$*" | tee -a "$log_file"; }

# Only one run at a time; a second one waits for the first and then has nothing left to do. Stages do not inherit the lock, because their
# background processes would hold it for ever.
exec 9>/run/fenestra/bootstrap.lock
flock 9

run_stage() {
  local name=$1 code=$2 hash=$3 mode=$4 marker=$done_markers/$1 started status=0
  if [[ $mode == once && -e $marker && $(<"$marker") == "$hash" ]]; then
    say "$name: already done"
    return 0
  fi
  rm -f "$marker"
  say "$name: begins"
  started=$SECONDS
  bash "/opt/fenestra/stages/$name.sh" </dev/null 9>&- 2>&1 | tee -a "$log_file" || status=${PIPESTATUS[0]}
  if ((status != 0)); then
    say "$name: failed after $((SECONDS - started)) s with status $status; exit code $code"
    exit "$code"
  fi
  printf '%s\n' "$hash" >"$marker.new"
  mv -f "$marker.new" "$marker"
  say "$name: done after $((SECONDS - started)) s"
}

while IFS=$'\t' read -r name code hash mode <&8; do
  run_stage "$name" "$code" "$hash" "$mode"
done 8</etc/fenestra/stages.tsv
say "all stages are done"
