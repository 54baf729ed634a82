export interface PortRange {
  readonly first: number;
  readonly last: number;
}

/**
 * Every port that another machine, a load balancer, an agent of the cloud or the deployer connects to. Each number is
 * defined only here.
 */
export const ports = {
  /** Kubernetes API, on control-plane machines and load balancers: kubeadm's default. */
  api: 6443,
  /** etcd, for clients and among members (IANA). */
  etcdClient: 2379,
  etcdPeer: 2380,
  /** kubelet: logs, exec, metrics (kubernetes/kubernetes, pkg/cluster/ports). */
  kubelet: 10250,
  /** kube-proxy's health, probed by Services' load balancers (kubernetes/kubernetes, pkg/cluster/ports). */
  kubeProxyHealth: 10256,
  /** Open on a worker, to itself alone, while its node is Ready, for Azure's health extension. */
  joined: 10261,
  /** Open with the exporters alone: metrics of kube-proxy on Linux, and of etcd (kubeadm's default). */
  kubeProxyMetrics: 10249,
  etcdMetrics: 2381,
  /** Prometheus exporters of Linux and Windows nodes (prometheus/prometheus wiki, "Default port allocations"). */
  nodeExporter: 9100,
  windowsExporter: 9182,
} as const;

/** Controller manager to scheduler, which check who reads their metrics (kubernetes/kubernetes, pkg/cluster/ports). */
export const controllerPorts = { first: 10_257, last: 10_259 } as const satisfies PortRange;

/** NodePorts, kube-apiserver's default. */
export const nodePorts = { first: 30_000, last: 32_767 } as const satisfies PortRange;
