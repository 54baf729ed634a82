/** Sections of the manual that say what to do, from docs/operations/incidents.md. */
const sections = {
  api: ["the API is away", "updates.md#the-api-is-away"],
  certificates: ["certificates", "keys.md"],
  disk: ["a disk is full", "#a-disk-is-full"],
  nodes: ["nodes that do not work", "debugging.md"],
  requests: ["no certificate", "debugging.md#a-worker-that-gets-no-certificate"],
  room: ["room in etcd", "backup.md"],
  snapshots: ["failed snapshots", "backup.md"],
  symptoms: ["by symptom", "#by-symptom"],
} as const;

/** Name without the program's, what is so, for how many minutes. */
type Row = readonly [name: string, expression: string, minutes: number, section: keyof typeof sections];

const rows: readonly Row[] = [
  ["SnapshotLate", "time() - fenestra_etcd_snapshot_timestamp_seconds > 9 * 3600", 0, "snapshots"],
  ["LinuxDiskFull", 'node_filesystem_avail_bytes{mountpoint=~"/(var/lib/etcd-data)?"} / node_filesystem_size_bytes < 0.15', 5, "disk"],
  ["WindowsDiskFull", "windows_logical_disk_free_bytes / windows_logical_disk_size_bytes < 0.15", 5, "disk"],
  ["EtcdFull", "etcd_mvcc_db_total_size_in_bytes / etcd_server_quota_backend_bytes > 0.8", 5, "room"],
  ["EtcdWithoutLeader", "etcd_server_has_leader == 0", 1, "api"],
  ["ApiFails", 'sum(rate(apiserver_request_total{code=~"5.."}[5m])) / sum(rate(apiserver_request_total[5m])) > 0.05', 5, "api"],
  ["NodeNotReady", 'kube_node_status_condition{condition="Ready",status="true"} == 0', 15, "nodes"],
  ["NodePressure", 'kube_node_status_condition{condition=~".*Pressure",status="true"} == 1', 5, "disk"],
  ["RequestDenied", "increase(fenestra_certificate_requests_denied_total[1h]) > 0", 0, "requests"],
  ["RequestUnanswered", "fenestra_certificate_requests_waiting > 0", 15, "requests"],
  ["NodeControllerIdle", "max(fenestra_node_controller_leads) < 1", 15, "requests"],
  ["PodPending", 'kube_pod_status_phase{phase="Pending"} == 1', 15, "symptoms"],
  ["ClientCertificateEnds", 'rate(apiserver_client_certificate_expiration_seconds_bucket{le="86400"}[1h]) > 0', 0, "certificates"],
];

/** What somebody should be told of: by the exporters, of etcd and the API, and by kube-state-metrics. */
export const alerts = rows.map(([name, expression, minutes, section]) => ({
  name: `Fenestra${name}`,
  expression,
  minutes,
  section: sections[section][0],
  link: sections[section][1],
}));
