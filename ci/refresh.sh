#!/usr/bin/env bash
# `pulumi refresh` of the stack in $STACK, with options that leave something out: before a first update there is nothing
# to read, and Pulumi refuses `--exclude` (pulumi/pulumi: pkg/engine/deployment.go, checkTargets).
set -euo pipefail
resources="$(pulumi stack export --stack "$STACK" | jq '.deployment.resources // [] | length')"
if ((resources > 0)); then pulumi refresh --stack "$STACK" --non-interactive "$@"; else echo "$STACK has had no update yet: nothing to read"; fi
