#!/usr/bin/env bash
# shellcheck disable=SC2034,SC2154 # lib.sh and the stages share variables with this file
# A stage's requests to Azure, with the machine's user-assigned identity. Sourced by lib.sh; aws.sh has the same functions.

imds=http://169.254.169.254/metadata

# imds <path and query>
imds() { metadata --header 'Metadata: true' "$imds/$1"; }

# bearer <resource>: a token of the identity for that resource, as a line of a curl configuration.
bearer() {
  local answer token
  answer=$(imds "identity/oauth2/token?api-version=2018-02-01&client_id=$CLIENT_ID&resource=$1") || return 1
  token=$(printf '%s' "$answer" | json_text access_token) || return 1
  printf 'header = "Authorization: Bearer %s"\n' "$token"
}

# authorised <resource> <file for the response> <curl arguments...>: prints the HTTP status.
authorised() {
  local answer=$2 secrets
  secrets=$(bearer "$1") || return 1
  shift 2
  printf '%s\n' "$secrets" | curl --config - --silent --show-error --connect-timeout 5 --max-time "$FETCH_TIMEOUT" \
    --output "$answer" --write-out '%{http_code}' "$@"
}

vault() { authorised https%3A%2F%2Fvault.azure.net "$@"; }

cloud_identity() {
  local instance id group
  instance=$(imds 'instance?api-version=2021-02-01') || return 1
  id=$(printf '%s' "$instance" | json_text resourceId) || return 1
  NODE_IP=$(printf '%s' "$instance" | json_text privateIpAddress) || return 1
  NODE_NAME=$(printf '%s' "$instance" | json_text computerName) || return 1
  # A Node's name is lower case; the cloud controller writes the resource group in lower case too
  # (kubernetes-sigs/cloud-provider-azure: convertResourceGroupNameToLower). Compute may write it in capitals in an id, whatever
  # its name (Azure/azure-rest-api-specs#10016).
  NODE_NAME=${NODE_NAME,,}
  has_form "$id" '/subscriptions/[^/ ]+/resourceGroups/[^/ ]+/providers/[A-Za-z0-9._/-]+' "$NODE_NAME" '[a-z0-9-]+' \
    "$NODE_IP" '[0-9]{1,3}(\.[0-9]{1,3}){3}' || return 1
  group=${id#*/resourceGroups/}
  group=${group%%/*}
  PROVIDER_ID=azure://${id/"/$group/"/"/${group,,}/"}
}

secret_value() { json_text value; }
ask_secret() { vault "$2/answer" "$1?api-version=7.4"; }

# put_secret: as a new version.
put_secret() {
  {
    printf '{"value":'
    json_quote
    printf '}'
  } >"$2/body"
  vault "$2/answer" --request PUT --header 'Content-Type: application/json' --data-binary "@$2/body" "$1?api-version=7.4"
}

# secrets_page <file for the response> <URL of the page>: what the vault has, without values.
secrets_page() {
  local url=${2:-${JOIN_SECRET%/*}?api-version=7.4}
  [[ $url == "${JOIN_SECRET%/*}?"* ]] && vault "$1" "$url"
}

# group_ready: nothing to do, since a scale set polls the health extension.
group_ready() { :; }

# scheduled_events [curl arguments...]: the platform's scheduled events. The first call enables the service, and may
# take two minutes (Azure documentation, scheduled events, "Enable and disable").
scheduled_events() { metadata --header 'Metadata: true' --max-time "$events_seconds" "$@" "$imds/scheduledevents?api-version=2020-07-01"; }
events_seconds=150

# notice: succeeds when this machine is about to leave for good (LEAVES) or to be interrupted, in NOTICE_SECONDS; fails
# with 2 when nobody says. All machines of a set receive all its events (Azure documentation, scheduled events,
# "Scope"), and each may approve any of them: EVENT_ID is this one's.
notice() {
  local events name words status=0
  events=$(scheduled_events) || status=2
  events_seconds=10
  if ((status)); then return 2; fi
  if [[ $events =~ ^\{[^{}]*\"Events\":\ *\[\ *\]\ *\}$ ]]; then return 1; fi
  name=$(imds 'instance/compute/name?api-version=2021-02-01&format=text') || return 2
  # One that has started has no time, and what this machine shares with others begins at its time.
  words=$(python3 -I - "$name" "$events" "$DRAIN_SECONDS" "$LEAVING_EVENTS" "$RETURNING_EVENTS" <<'EOF'
import json, sys, time
from email.utils import parsedate_to_datetime
name, events, longest = sys.argv[1], sys.argv[2], int(sys.argv[3])
leaving, returning = sys.argv[4].split(), sys.argv[5].split()
found = []
try:
    for event in json.loads(events)["Events"]:
        if name not in event["Resources"]:
            continue
        if event["EventType"] in leaving:
            found.append((0, longest, event["EventId"], "leaves"))
        elif event["EventType"] in returning:
            start = event["NotBefore"]
            left = int(parsedate_to_datetime(start).timestamp() - time.time()) if start else 0
            found.append((1, left, event["EventId"] if start and len(event["Resources"]) == 1 else "", ""))
except (ValueError, LookupError, TypeError) as error:
    sys.exit(f"the scheduled events cannot be read: {error!r}")
for _, left, id, leaves in sorted(found)[:1]:
    print(leaves, id, left, sep="|")
EOF
  ) || return 2
  IFS='|' read -r LEAVES EVENT_ID NOTICE_SECONDS <<<"$words"
  # It may be known days ahead.
  [[ -n $words ]] && ((NOTICE_SECONDS < DRAIN_SECONDS + 60))
}

# draining: nothing to do, since the time of a notice cannot be extended.
draining() { :; }

# drained: approving the event lets the platform go on at once.
drained() { [[ -z $EVENT_ID ]] || scheduled_events --data "{\"StartRequests\":[{\"EventId\":\"$EVENT_ID\"}]}"; }

# container <method> <file for the response> <path and query> [curl arguments...]
container() {
  local method=$1 answer=$2 path=$3
  shift 3
  authorised https%3A%2F%2Fstorage.azure.com "$answer" --request "$method" --header 'x-ms-version: 2023-11-03' "$@" "$SNAPSHOT_TARGET$path"
}

# blob_put <file> <name>
blob_put() {
  answered 201 "writing $2" container PUT "$scratch/blob" "/$2" --header 'x-ms-blob-type: BlockBlob' --upload-file "$1"
}

# blob_get <name> <file>
blob_get() { answered 200 "reading $1" container GET "$2" "/$1"; }

# blob_list <prefix>: names of the blobs with that prefix, in alphabetical order.
blob_list() { blob_pages "$1" Name NextMarker | sort; }

# blob_page <file for the response> <prefix in a URL> <marker in a URL>: prints the HTTP status.
blob_page() { container GET "$1" "?restype=container&comp=list&prefix=$2${3:+&marker=$3}"; }
