#!/usr/bin/env bash
# What an update of the stack in $STACK would do, and the update: one script with one set of options.
#
#   update.sh head COMMIT     fails where the checkout is not COMMIT, the newest of its branch
#   update.sh plugins         fetches the cloud's plug-ins; before anybody signs in
#   update.sh preview FOLDER  writes preview.txt, for people, and operations.txt, neither where nothing would change
#   update.sh up FOLDER       updates, where the operations are those of FOLDER/operations.txt
#   update.sh drift           fails where the cloud differs from the record
#
# API=away leaves the objects of Kubernetes out of what is read, to repair a stack whose API is away.
set -euo pipefail
export PULUMI_DISABLE_AUTOMATIC_PLUGIN_ACQUISITION=true
# The program runs too: the credentials of the Kubernetes provider are its values. Without blobs, the documents of an
# issuer on Azure: azure-native reads one by its account's key (pulumi-azure-native, custom_storage_azidentity.go),
# which may also write them.
reading=(--run-program --exclude '**azure-native:storage:Blob::*')
if [[ ${API:-} == away ]]; then reading+=(--exclude '**kubernetes:*/*:*::**'); fi

# Pulumi refuses `--exclude` where there is nothing (pulumi/pulumi: pkg/engine/deployment.go, checkTargets).
refresh() {
  if (($(pulumi stack export --stack "$STACK" | jq '.deployment.resources // [] | length') > 0)); then
    pulumi refresh --stack "$STACK" --non-interactive "${reading[@]}" "$@"
  else
    echo "$STACK has had no update yet: nothing to read"
  fi
}

# Makes the exported state $1 that of the copy.
write_copy() {
  local project
  project="$(sed -n 's/^name: *//p' Pulumi.yaml)"
  mkdir -p "$copy/.pulumi/stacks/$project"
  echo 'version: 1' > "$copy/.pulumi/meta.yaml"
  jq --arg stack "organization/$project/$STACK" '{version, features, checkpoint: {stack: $stack, latest: .deployment}} | with_entries(select(.value != null))' "$1" \
    > "$copy/.pulumi/stacks/$project/$STACK.json"
}

# A refresh that runs the program writes its triggers of replacement into the state, and no machine is replaced any more
# (pulumi/pulumi, pkg/resource/deploy: NewRefreshStep gets the program's options): those of before are put back.
# shellcheck disable=SC2016
keep_triggers='([$before[0].deployment.resources // [] | .[] | select(.delete | not) | {(.urn): .replacementTrigger}] | add) as $old
  | .deployment.resources |= [(. // [])[] | if .delete | not then .replacementTrigger = $old[.urn] else . end | if .replacementTrigger == null then del(.replacementTrigger) else . end]'

# Previews what follows on reading the cloud, into folder $1. A copy of the state takes what is read: an approval has no
# right to write the stack's, and no lock is taken.
look() {
  mkdir -p "$1"
  copy="$(mktemp -d)"
  trap 'rm -rf "$copy"' EXIT
  pulumi stack export --stack "$STACK" > "$copy/before.json"
  write_copy "$copy/before.json"
  (
    export PULUMI_BACKEND_URL="file://$copy"
    refresh --yes --skip-preview --suppress-outputs
    pulumi stack export --stack "$STACK" | jq --slurpfile before "$copy/before.json" "$keep_triggers" > "$copy/read.json"
    write_copy "$copy/read.json"
    # Nothing that a preview would save is of use.
    export PULUMI_SKIP_CHECKPOINTS=true
    pulumi preview --stack "$STACK" --non-interactive --diff --suppress-outputs 2>&1 | tee "$1/preview.txt"
    # What is done, to what, and why: of the same commit the new values are the same.
    pulumi preview --stack "$STACK" --non-interactive --json | jq -r '.steps[]
      | select((.op | IN("same", "read") | not) and (.urn | test("[:$]pulumi:providers:[^:$]+::") | not))
      | [.op, .urn, (.detailedDiff // {} | to_entries[] | "\(.key) \(.value.kind)"), .replaceReasons[]?] | join(" ")' |
      sort > "$1/operations.txt"
  )
}

case $1 in
  head)
    if [[ $2 == "$(git rev-parse HEAD)" ]]; then exit; fi
    echo "The branch has moved on to $2: run the pipeline of that commit, and reject this one." >&2
    exit 1
    ;;
  plugins)
    cloud="$(sed -n 's/^ *fenestra:cloud: *//p' "stacks/Pulumi.$STACK.yaml")"
    other="$([[ $cloud == aws ]] && echo azure-native || echo aws)"
    jq -r --arg other "$other" '.dependencies | to_entries[] | select(.key | startswith("@pulumi/")) | .key |= ltrimstr("@pulumi/")
      | select(.key | IN("pulumi", $other) | not) | "\(.key) \(.value)"' "${PROGRAM:-.}/package.json" |
      while read -r name version; do
        for pause in 10 30 0; do
          if pulumi plugin install resource "$name" "$version"; then break; fi
          if ((pause == 0)); then exit 1; fi
          sleep "$pause"
        done
      done
    ;;
  preview)
    look "$2"
    if [[ ! -s $2/operations.txt ]]; then rm "$2"/*.txt; fi
    ;;
  up)
    now="$(mktemp -d)"
    look "$now"
    if ! diff "$2/operations.txt" "$now/operations.txt"; then
      echo "$STACK is not updated: what would be done (>) is not what was approved (<). Run the pipeline again." >&2
      exit 1
    fi
    # One write takes all that was read, unless somebody has written meanwhile.
    if ! pulumi stack export --stack "$STACK" | cmp - "$copy/before.json"; then
      echo "$STACK is not updated: its state has changed meanwhile. Run the pipeline again." >&2
      exit 1
    fi
    pulumi stack import --stack "$STACK" --file "$copy/read.json"
    pulumi up --stack "$STACK" --non-interactive --yes --skip-preview --suppress-outputs
    ;;
  drift) refresh --preview-only --expect-no-changes --diff ;;
esac
