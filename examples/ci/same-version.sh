#!/usr/bin/env bash
# Fails where the called workflow is of another version than the program in the submodule $PROGRAM: one would run with
# the other's files. A server other than GitHub leaves $WORKFLOW_SHA empty.
set -euo pipefail
pinned="$(git rev-parse "HEAD:$PROGRAM")"
if [[ -n $WORKFLOW_SHA && $WORKFLOW_SHA != "$pinned" ]]; then
  echo "The workflows are at $WORKFLOW_SHA, and $PROGRAM is at $pinned. Run $PROGRAM/cli/fenestra update with the release that you want." >&2
  exit 1
fi
