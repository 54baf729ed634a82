#!/usr/bin/env bash
# shellcheck disable=SC2034,SC2154 # lib.sh and the stages share variables with this file
# A stage's requests to AWS, with the instance's role. Sourced by lib.sh; azure.sh has the same functions.

imds=http://169.254.169.254/latest
time_source=169.254.169.123

imds_token() { metadata -X PUT -H 'X-aws-ec2-metadata-token-ttl-seconds: 300' "$imds/api/token"; }

# imds <path below meta-data/>: with the token of a caller who asks several times.
imds() {
  local token=${asking:-}
  [[ -n $token ]] || token=$(imds_token) || return 1
  printf 'header = "X-aws-ec2-metadata-token: %s"\n' "$token" | metadata --config - "$imds/meta-data/$1"
}

# Credentials of the role, as lines of a curl configuration.
credentials() {
  local role answer key secret token asking
  asking=$(imds_token) || return 1
  role=$(imds iam/security-credentials/) || return 1
  answer=$(imds "iam/security-credentials/$role") || return 1
  key=$(printf '%s' "$answer" | json_text AccessKeyId) || return 1
  secret=$(printf '%s' "$answer" | json_text SecretAccessKey) || return 1
  token=$(printf '%s' "$answer" | json_text Token) || return 1
  printf 'user = "%s:%s"\nheader = "x-amz-security-token: %s"\n' "$key" "$secret" "$token"
}

# signed <service> <file for the response> <curl arguments...>: prints the HTTP status.
signed() {
  local service=$1 answer=$2 secrets
  shift 2
  secrets=$(credentials) || return 1
  printf '%s\n' "$secrets" | curl --config - --silent --show-error --connect-timeout 5 --max-time "$FETCH_TIMEOUT" \
    --aws-sigv4 "aws:amz:$REGION:$service" --output "$answer" --write-out '%{http_code}' "$@"
}

# parameter_store <operation> <body file> <file for the response>
parameter_store() {
  signed ssm "$3" --header "X-Amz-Target: AmazonSSM.$1" --header 'Content-Type: application/x-amz-json-1.1' \
    --data-binary "@$2" "https://ssm.$REGION.amazonaws.com/"
}

cloud_identity() {
  local id zone asking
  asking=$(imds_token) || return 1
  id=$(imds instance-id) || return 1
  zone=$(imds placement/availability-zone) || return 1
  NODE_IP=$(imds local-ipv4) || return 1
  has_form "$id" 'i-[0-9a-f]{8,17}' "$zone" '[a-z]{2}(-[a-z0-9]+)+' "$NODE_IP" '[0-9]{1,3}(\.[0-9]{1,3}){3}' || return 1
  NODE_NAME=$id
  PROVIDER_ID=aws:///$zone/$id
}

secret_value() { json_text Value; }
ask_secret() {
  printf '{"Name":"%s","WithDecryption":true}' "$1" >"$2/body"
  parameter_store GetParameter "$2/body" "$2/answer"
}

put_secret() {
  {
    # The account's default tier may be the advanced one, which is charged, cannot be reverted, and needs another
    # permission on the key.
    printf '{"Name":"%s","Type":"SecureString","Tier":"Standard","Overwrite":true,' "$1"
    # Without the key's name, overwriting a parameter falls back to the account's default key.
    if [[ -n ${SECRETS_KEY:-} ]]; then printf '"KeyId":"%s",' "$SECRETS_KEY"; fi
    printf '"Value":'
    json_quote
    printf '}'
  } >"$2/body"
  parameter_store PutParameter "$2/body" "$2/answer"
}

# secrets_page <file for the response> <marker>: what there is below the cluster's path, values encrypted.
secrets_page() {
  printf '{"Path":"%s","Recursive":true%s}' "${JOIN_SECRET%/*}" "${2:+,\"NextToken\":\"$2\"}" >"$1.body"
  parameter_store GetParametersByPath "$1.body" "$1"
}

# group_ready: reports to the Auto Scaling group that the machine is in service.
group_ready() {
  if [[ -n ${SCALING_GROUP:-} ]]; then lifecycle_action CompleteLifecycleAction "$LAUNCH_HOOK" LifecycleActionResult=CONTINUE; fi
}

# lifecycle_action <action> <hook> [NAME=VALUE]: a hook that no longer waits counts as completed. The answer goes to no
# file: /run may be full.
lifecycle_action() {
  local answer
  answer=$(signed autoscaling /dev/stdout --data "Action=$1&Version=2011-01-01" \
    --data-urlencode "AutoScalingGroupName=$SCALING_GROUP" --data-urlencode "LifecycleHookName=$2" \
    ${3:+--data-urlencode "$3"} --data-urlencode "InstanceId=$NODE_NAME" \
    "https://autoscaling.$REGION.amazonaws.com/") || return 1
  if [[ $answer == *200 || $answer == *'No active Lifecycle Action'*400 ]]; then return 0; fi
  log "error: $1 of the hook $2 was answered with ${answer: -3}"
  return 1
}

# named <path below meta-data/>: nothing where there is no such thing; fails when nobody says.
named() {
  local answer
  if answer=$(imds "$1" 2>&1); then printf %s "$answer"; else [[ $answer == *' 404' ]]; fi
}

# notice: succeeds when this machine is about to leave for good (LEAVES) or to be interrupted, in NOTICE_SECONDS; fails
# with 2 when nobody says. A recommendation to rebalance is the group's affair: it starts another machine first, and
# then takes this one like any other (capacityRebalance).
notice() {
  local group spot words asking events=[]
  LEAVES=1
  # The hook waits.
  NOTICE_SECONDS=$((DRAIN_SECONDS + BALANCER_SECONDS))
  asking=$(imds_token) || return 2
  group=$(named autoscaling/target-lifecycle-state) || return 2
  if [[ $group == Terminated ]]; then return 0; fi
  spot=$(named spot/instance-action) || return 2
  if [[ -z $spot ]]; then
    events=$(named events/maintenance/scheduled) || return 2
    if [[ -z $events || $events == '[]' ]]; then return 1; fi
  fi
  words=$(python3 -I - "$events" "$spot" "$LEAVING_EVENTS" <<'EOF'
import json, sys, time
from datetime import datetime
from email.utils import parsedate_to_datetime
try:
    events = list.copy(json.loads(sys.argv[1]))
    starts = [
        (parsedate_to_datetime(event["NotBefore"]).timestamp(), event["Code"] in sys.argv[3].split())
        for event in events
        if event["State"] == "active"
    ]
    if sys.argv[2]:
        spot = json.loads(sys.argv[2])
        starts = [(datetime.strptime(spot["time"], "%Y-%m-%dT%H:%M:%S%z").timestamp(), True)]
        if spot["action"] not in ("terminate", "stop", "hibernate"):
            raise ValueError(spot)
except (ValueError, LookupError, TypeError) as error:
    sys.exit(f"the notice cannot be read: {error!r}")
start, leaves = min(starts, default=(1e11, False))
print("leaves" if leaves else "", int(start - time.time()), sep="|")
EOF
  ) || return 2
  IFS='|' read -r LEAVES NOTICE_SECONDS <<<"$words"
  # It is known days ahead.
  ((NOTICE_SECONDS < DRAIN_SECONDS + 60))
}

# draining: restarts the hook's timeout.
draining() {
  if [[ -n ${SCALING_GROUP:-} ]]; then lifecycle_action RecordLifecycleActionHeartbeat "$TERMINATE_HOOK"; fi
}

# drained: the machine may be terminated now. Maintenance begins at its time.
drained() {
  if [[ -n ${SCALING_GROUP:-} && -n $LEAVES ]]; then lifecycle_action CompleteLifecycleAction "$TERMINATE_HOOK" LifecycleActionResult=CONTINUE; fi
}

# s3 <method> <file for the response> <bucket> <path and query> [file to send]: it wants the hash of what is sent, which
# curl adds from 8.0 on only.
s3() {
  local method=$1 answer=$2 url=https://$3.s3.$REGION.amazonaws.com/$4
  shift 4
  signed s3 "$answer" --request "$method" --header "x-amz-content-sha256: $(cat "$@" </dev/null | sha256sum | cut -d' ' -f1)" \
    ${1:+--upload-file "$1"} "$url"
}

# blob_put <file> <name>
blob_put() { answered 200 "writing $2" s3 PUT "$scratch/blob" "$SNAPSHOT_TARGET" "$2" "$1"; }

# blob_get <name> <file>
blob_get() { answered 200 "reading $1" s3 GET "$2" "$SNAPSHOT_TARGET" "$1"; }

# blob_list <prefix>: names of the blobs with that prefix, in alphabetical order.
blob_list() { blob_pages "$1" Key NextContinuationToken | sort; }

# blob_page <file for the response> <prefix in a URL> <marker in a URL>: prints the HTTP status. The query is in the
# order in which it is signed.
blob_page() { s3 GET "$1" "$SNAPSHOT_TARGET" "?${3:+continuation-token=$3&}list-type=2&prefix=$2"; }
