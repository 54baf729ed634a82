#!/usr/bin/env bash
# Reports workers that stay NotReady to the cloud, which replaces them: the cloud only sees that the machine runs, not that its node is broken.
# At most REPLACE_PER_HOUR in an hour, and none while more than half of the workers are NotReady, since the cause is then elsewhere. A node is
# tried once an hour, so that one that cannot be replaced does not block the others, and one that fails again is replaced again.
# shellcheck source=lib.sh
. /opt/fenestra/lib.sh
# shellcheck source=admin.sh
. /opt/fenestra/admin.sh

leads || exit 0
work=$(mktemp -d "$scratch/replace.XXXXXX")
trap 'rm -rf "$work"' EXIT

admin get nodes --selector '!node-role.kubernetes.io/control-plane' --output json >"$work/nodes"
admin get "${replaced[@]}" --ignore-not-found --output json >"$work/replaced"
if [[ ! -s $work/replaced ]]; then admin create "${replaced[@]}" >/dev/null; fi

# mark <node> <JSON value>
mark() { admin patch "${replaced[@]}" --type merge --patch "{\"data\":{\"$1\":$2}}" >/dev/null; }

# Lines: action, node, provider id. Names and ids that do not have the expected form are left out.
now=$(date +%s)
python3 -I - "$work/nodes" "$work/replaced" "$now" "$REPLACE_AFTER" >"$work/plan" <<'PYTHON'
import datetime, json, re, sys
def read(path):
    with open(path, encoding="utf-8") as file:
        text = file.read()
    return json.loads(text) if text else {}
def seconds(time):
    try:
        return datetime.datetime.strptime(time, "%Y-%m-%dT%H:%M:%S%z").timestamp()
    except (TypeError, ValueError):
        return now
nodes, marks = read(sys.argv[1])["items"], read(sys.argv[2]).get("data") or {}
now, after = int(sys.argv[3]), int(sys.argv[4])
marks = {name: re.fullmatch(r"keep|([0-9]{1,12})( failed)?", mark) for name, mark in marks.items()}
fresh = {name: mark for name, mark in marks.items() if mark and (not mark[1] or now - int(mark[1]) < 3600)}
for name in marks.keys() - fresh.keys():
    print("forget", name)
bad, overdue = 0, []
for node in nodes:
    name, provider = node["metadata"]["name"], node["spec"].get("providerID", "")
    ready = [each for each in node["status"].get("conditions", []) if each["type"] == "Ready" and each["status"] != "True"]
    bad += len(ready) > 0
    if not ready or name in fresh or now - seconds(ready[0].get("lastTransitionTime")) <= after:
        continue
    if re.fullmatch(r"[a-z0-9-]{1,63}", name) and re.fullmatch(r"[A-Za-z0-9:/._-]{1,500}", provider):
        overdue.append(("replace", name, provider))
if bad * 2 > len(nodes):
    print("none", bad, len(nodes))
else:
    print("recent", sum(mark[1] is not None and not mark[2] for mark in fresh.values()))
    for line in overdue:
        print(*line)
PYTHON

recent=0
mapfile -t plan <"$work/plan"
for line in "${plan[@]}"; do
  read -r verb name provider <<<"$line"
  case $verb in
    forget) mark "$name" null ;;
    none) log "warning: $name of $provider workers are NotReady; none is replaced, since the fault must be elsewhere" ;;
    recent) recent=$name ;;
    replace)
      if ((recent >= REPLACE_PER_HOUR)); then
        log "warning: $recent machines were replaced in the last hour; $name has to wait"
        continue
      fi
      # Marked before the call: an interrupted run must not do it twice.
      mark "$name" "\"$now\""
      if replace_machine "$name" "$provider"; then
        recent=$((recent + 1))
        log "reported $name for replacement: it has not been Ready for more than $REPLACE_AFTER s"
      else
        mark "$name" "\"$now failed\""
        log "warning: $name cannot be replaced; it is tried again in an hour"
      fi
      ;;
  esac
done
