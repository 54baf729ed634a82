#!/usr/bin/env bash
# Mounts etcd's data volume. It is formatted only when completely empty; any other content fails the stage.
# shellcheck source=../lib.sh
. /opt/fenestra/lib.sh

# The volume is attached after the machine has started. Several names are candidates: which of them exists depends on the disk bus.
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

status=0
found=$(blkid -p -o value -s TYPE "$device") || status=$?
# blkid exits with 2 when it recognises nothing on the device, and with 0 and no type for a partition table and the like.
if ((status == 2)); then
  # It does the same for a device that it cannot read, so a second check decides: unwritten blocks are zeros.
  cmp --silent --bytes 1048576 "$device" /dev/zero || die "$device holds no file system that is known, but it is not empty; it is left alone"
  log "formatting the empty volume $device"
  mkfs.ext4 -q -m 0 -L fenestra-etcd "$device"
elif ((status != 0)); then
  die "blkid cannot tell what is on $device (status $status)"
elif [[ $found != ext4 ]]; then
  die "$device holds '$found', neither nothing nor ext4; it is left alone"
fi

install -d -m 0700 "$ETCD_MOUNT"
{
  if [[ -e /etc/fstab ]]; then sed "\\#[[:space:]]${ETCD_MOUNT}[[:space:]]#d" /etc/fstab; fi
  printf '%s %s ext4 defaults,noatime,nofail,x-systemd.device-timeout=300 0 2\n' "$device" "$ETCD_MOUNT"
} | put 0644 /etc/fstab
mountpoint --quiet "$ETCD_MOUNT" || mount "$device" "$ETCD_MOUNT"
mountpoint --quiet "$ETCD_MOUNT" || die "$ETCD_MOUNT is not a mount point"
# Grows the file system when the disk has grown; otherwise does nothing.
resize2fs "$device" || log "warning: the file system on $device does not fill its disk"
install -d -m 0700 "$ETCD_DATA"
# It depends on the mount, and was not started if the disk appeared after systemd's timeout.
if [[ -e $state/kubelet-started ]]; then systemctl start kubelet.service; fi
