#!/usr/bin/env bash
# `pulumi preview` of the stack in $STACK by Pulumi's record, into the file $1; there is none where nothing would
# change.
set -uo pipefail
pulumi preview --stack "$STACK" --non-interactive --diff --suppress-outputs --expect-no-changes 2>&1 | tee "$1"
code=${PIPESTATUS[0]}
# 7: there are changes (pulumi/pulumi: sdk/go/common/util/cmdutil, ExitNoChanges). An update may mend what else is
# wrong.
case $code in
  0) rm -f "$1" ;;
  7) ;;
  *) echo "The preview of $STACK failed with $code, so it is not known what would change." | tee -a "$1" ;;
esac
