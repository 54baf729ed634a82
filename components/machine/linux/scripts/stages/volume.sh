#!/usr/bin/env bash
# Mounts etcd's data volume. It is formatted only when completely empty; any other content fails the stage.
# shellcheck source=../lib.sh
. /opt/fenestra/lib.sh

# The volume is attached after the machine has started. Several names are candidates: which of them exists depends on
# the disk bus.
find_device() {
  local candidate
  for candidate in $ETCD_DEVICE; do
    if udevadm wait --timeout=2 "$candidate"; then
      device=$candidate
      return 0
    fi
  done
  return 1
}
retry "$VOLUME_ATTEMPTS" 2 find_device || die "no data volume appeared at $ETCD_DEVICE"

# Marks a volume that is being formatted, a mebibyte before its end, where mkfs.ext4 writes nothing (it wipes the last
# 128 KiB): formatting that was cut off is begun again, by whatever machine has the volume then.
size=$(blockdev --getsize64 "$device")
mark() { dd of="$device" bs=4096 seek="$((size / 4096 - 256))" count=1 conv=notrunc,fsync,sync status=none; }
marked() { [[ $(dd if="$device" bs=4096 skip="$((size / 4096 - 256))" count=1 status=none | tr -d '\0') == fenestra-formats-this ]]; }
format() {
  log "formatting the empty volume $device"
  printf fenestra-formats-this | mark
  # -F: what an interrupted run has left may look like a file system in use.
  mkfs.ext4 -q -F -m 0 -E nodiscard -L fenestra-etcd "$device"
  sync
  head -c 4096 /dev/zero | mark
}

status=0
found=$(blkid -p -o value -s TYPE "$device") || status=$?
# blkid exits with 2 when it recognises nothing on the device, and with 0 and no type for a partition table and the
# like.
if marked; then
  log "$device was being formatted"
  format
elif ((status == 2)); then
  # It does the same for a device that it cannot read, so a second check decides: unwritten blocks are zeros.
  cmp --silent --bytes 1048576 "$device" /dev/zero || die "$device holds no file system that is known, but it is not empty; it is left alone"
  format
elif ((status != 0)); then
  die "blkid cannot tell what is on $device (status $status)"
elif [[ $found != ext4 ]]; then
  die "$device holds '$found', neither nothing nor ext4; it is left alone"
fi

install -d -m 0700 "$ETCD_MOUNT"
text=
if [[ -e /etc/fstab ]]; then text=$(sed "\\#[[:space:]]${ETCD_MOUNT}[[:space:]]#d" /etc/fstab); fi
printf '%s\n%s %s ext4 defaults,noatime,nofail,x-systemd.device-timeout=300 0 2\n' "$text" "$device" "$ETCD_MOUNT" | put 0644 /etc/fstab
mountpoint --quiet "$ETCD_MOUNT" || mount "$device" "$ETCD_MOUNT"
mountpoint --quiet "$ETCD_MOUNT" || die "$ETCD_MOUNT is not a mount point"
# Grows the file system when the disk has grown; otherwise does nothing.
resize2fs "$device" || log "warning: the file system on $device does not fill its disk"
install -d -m 0700 "$ETCD_DATA"
# It depends on the mount, and was not started if the disk appeared after systemd's timeout.
if [[ -e $state/kubelet-started ]]; then systemctl start kubelet.service; fi
# A restore that the end of the boot before, or somebody, has cut off. One that fails puts back what was there, and says
# so.
if [[ -e $state/restore/next ]]; then /opt/fenestra/etcd-restore.sh --resume || log "warning: the restore that was cut off has failed"; fi
