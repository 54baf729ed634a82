#!/usr/bin/env bash
# One archive for troubleshooting a machine: its logs, those of pods and the journal, without secrets, by the list that
# Windows machines have too. Usage: collect-logs.sh [archive]; default /var/lib/fenestra/logs.tar.gz, which root alone
# may read.
set -euo pipefail
umask 077
archive=${1:-/var/lib/fenestra/logs.tar.gz}
mkdir -p "${archive%/*}"
work=$(mktemp -d /var/tmp/fenestra-logs.XXXXXX)
trap 'rm -rf "$work"' EXIT
answer() { timeout 60 "${@:2}" >"$work/answers/$1" 2>&1 || true; }
mkdir "$work/answers" "$work/logs"
answer units systemctl list-units --all --no-pager 'fenestra-*' kubelet.service containerd.service
answer journal journalctl --no-pager --lines 20000 --unit 'fenestra-*' --unit kubelet --unit containerd
answer containers crictl ps --all
answer disks df -h
answer addresses ip address
python3 -I - "$work" <<'EOF'
import os, re, sys
work = sys.argv[1]
limit, room, left_out = 20 << 20, 500 << 20, []
with open("/opt/fenestra/secret-patterns.txt", encoding="ascii") as file:
    patterns = [re.compile(line) for line in file.read().splitlines() if line]
assert patterns, "there is no list of secrets"
def mask(source, target):
    global room
    size = os.stat(source).st_size
    if min(size, limit) > room:
        left_out.append(f"{source}: the archive is full")
        return
    room -= min(size, limit)
    with open(source, "rb") as file:
        if size > limit:
            left_out.append(f"{source}: all but the last {limit} of {size} bytes")
            file.seek(-limit, os.SEEK_END)
        data = file.read(limit)
    os.makedirs(os.path.dirname(target), exist_ok=True)
    key = False
    with open(target, "w", encoding="utf-8") as out:
        for line in data.decode("utf-16-le" if data[1:64:2].count(0) > 16 else "utf-8", "replace").splitlines():
            key = key or re.search("-----BEGIN [A-Z ]*PRIVATE KEY-----", line) is not None
            if not key:
                for pattern in patterns:
                    line = pattern.sub(r"\1(hidden)", line)
                out.write(line + "\n")
            key = key and "PRIVATE KEY-----" not in line.partition("-----END ")[2]
secret = re.compile(r"kubeconfig|\.(conf|pem|key|crt|pfx|gz)$|/kubernetes/audit/")
for folder in [work + "/answers", "/var/log/fenestra", "/var/log/pods", "/var/log/kubernetes"]:
    for path, _, names in os.walk(folder):
        for source in (os.path.join(path, name) for name in sorted(names)):
            if secret.search(source):
                left_out.append(f"{source}: not for others")
                continue
            try:
                mask(source, work + "/logs" + source.removeprefix(work))
            except OSError as error:
                left_out.append(f"{source}: {error}")
with open(work + "/logs/left-out.txt", "w", encoding="utf-8") as out:
    out.write("\n".join(left_out) + "\n")
EOF
tar --create --gzip --file "$archive.new" --directory "$work/logs" .
mv -f "$archive.new" "$archive"
printf '%s\n' "$archive"
