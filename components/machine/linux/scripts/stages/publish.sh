#!/usr/bin/env bash
# The first join secret is published by the bootstrap itself, so that a machine that cannot publish does not count as ready. It runs at each
# boot: after an outage the published one may have run out.
# shellcheck source=../lib.sh
. /opt/fenestra/lib.sh

/opt/fenestra/publish-join-secret.sh
