#!/usr/bin/env bash
# The bootstrap publishes the first join secret itself, so that a machine that cannot publish does not count as ready. Runs at each boot:
# after an outage the published one may have expired.
# shellcheck source=../lib.sh
. /opt/fenestra/lib.sh

/opt/fenestra/publish-join-secret.sh
