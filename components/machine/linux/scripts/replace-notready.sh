#!/usr/bin/env bash
# Reports workers that stay NotReady to the cloud, which replaces them: it sees a machine that runs, not a node that does not work.
# At most REPLACE_PER_HOUR in an hour, and none while more than half of the workers are NotReady, since the fault is then elsewhere.
# shellcheck source=lib.sh
. /opt/fenestra/lib.sh

admin() { kubectl --kubeconfig /etc/kubernetes/admin.conf "$@"; }

# One machine does this: the one whose controller-manager leads.
leader=$(admin --namespace kube-system get lease kube-controller-manager --output 'jsonpath={.spec.holderIdentity}')
if [[ ${leader%_*} != "$NODE_NAME" ]]; then exit 0; fi

# name, status of Ready, since when, when it was reported, provider id
nodes=$(admin get nodes --selector '!node-role.kubernetes.io/control-plane' --output \
  'jsonpath={range .items[*]}{.metadata.name}{"\t"}{.status.conditions[?(@.type=="Ready")].status}{"\t"}{.status.conditions[?(@.type=="Ready")].lastTransitionTime}{"\t"}{.metadata.annotations.fenestra\.dev/reported}{"\t"}{.spec.providerID}{"\n"}{end}' |
  awk -F '\t' -v OFS='\t' '$1 != "" { for (i = 2; i <= 5; i++) if ($i == "") $i = "-"; print $1, $2, $3, $4, $5 }')
if [[ -z $nodes ]]; then exit 0; fi

now=$(date +%s)
total=0 bad=0 recent=0
overdue=()
while IFS=$'\t' read -r name ready since reported provider; do
  total=$((total + 1))
  if [[ $reported != - ]] && ((now - reported < 3600)); then recent=$((recent + 1)); fi
  if [[ $ready == True || $ready == - ]]; then continue; fi
  bad=$((bad + 1))
  if [[ $provider != - && $reported == - ]] && ((now - $(date -d "$since" +%s) > REPLACE_AFTER)); then overdue+=("$name $provider"); fi
done <<<"$nodes"

if ((bad * 2 > total)); then
  log "warning: $bad of $total workers are NotReady; none is replaced, since the fault must be elsewhere"
  exit 0
fi
for entry in "${overdue[@]}"; do
  if ((recent >= REPLACE_PER_HOUR)); then
    log "warning: $recent machines were replaced in the last hour; ${entry% *} has to wait"
    continue
  fi
  replace_machine "${entry#* }"
  admin annotate node "${entry% *}" "fenestra.dev/reported=$now" >/dev/null
  recent=$((recent + 1))
  log "reported ${entry% *} for replacement: it has not been Ready for more than $REPLACE_AFTER s"
done
