#!/usr/bin/env bash
# AWS: fetches the scripts that do not fit into user data, with the instance's role. Nothing is read before the digest is verified, and each
# script is put in place atomically.
# shellcheck source=../lib.sh
. /opt/fenestra/lib.sh
values /etc/fenestra/scripts.env

archive=$scratch/scripts.json

get_scripts() {
  local digest
  answered 200 "reading $SCRIPTS_KEY from $SCRIPTS_BUCKET" s3 GET "$archive" "$SCRIPTS_BUCKET" "$SCRIPTS_KEY" || return 1
  digest=$(sha256sum "$archive" | cut -d' ' -f1)
  if [[ $digest != "$SCRIPTS_SHA256" ]]; then
    log "error: $SCRIPTS_KEY from $SCRIPTS_BUCKET has the SHA-256 $digest"
    return 1
  fi
}

# A new role's permissions may take minutes to reach S3.
retry "$SERVICE_ATTEMPTS" 1 get_scripts || die "the scripts could not be fetched"

# Python is always present: cloud-init itself needs it.
python3 -I - "$archive" <<'EOF'
import json, os, sys
with open(sys.argv[1], encoding="utf-8") as archive:
    files = json.load(archive)["files"]
for path, text in files.items():
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path + ".new", "w", encoding="utf-8", newline="\n") as script:
        script.write(text)
    os.chmod(path + ".new", 0o755)
    os.replace(path + ".new", path)
EOF
rm -f "$archive"
log "the scripts are in place, SHA-256 $SCRIPTS_SHA256"
