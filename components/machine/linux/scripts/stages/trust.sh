#!/usr/bin/env bash
# Trusts the authorities of the stack file, before anything is fetched. Authorities that were taken out are no longer trusted.
# shellcheck source=../lib.sh
. /opt/fenestra/lib.sh

update-ca-certificates --fresh >"$scratch/trust" 2>&1 || die "the authorities could not be added: $(tail -n 1 "$scratch/trust")"
