import * as pulumi from "@pulumi/pulumi";
import { parse } from "yaml";
import { ports } from "../model/ports.ts";
import type { Pki } from "../pki/pki.ts";
import { type ApiClient, field, list, text } from "./apiProbe.ts";

export function apiUrl(host: pulumi.Input<string>): pulumi.Output<string> {
  return pulumi.interpolate`https://${host}:${ports.api}`;
}

/** API client of the gates: the administrator's certificate, trusting only the cluster's own authority. */
export function adminClient(server: pulumi.Output<string>, pki: Pki): pulumi.Output<ApiClient> {
  return pulumi
    .all([server, pki.kubernetesCa.certificate, pki.admin.certificate, pki.admin.key])
    .apply(([known, caCertificate, certificate, key]) => ({
      server: known,
      caCertificate,
      client: { certificate, key },
    }));
}

/** The same from the administrator's kubeconfig, as a stack exports it. The result is secret. */
export function kubeconfigClient(kubeconfig: string): ApiClient {
  const config: unknown = parse(kubeconfig);
  const cluster = field(list(field(config, "clusters"))[0], "cluster");
  const user = field(list(field(config, "users"))[0], "user");
  const pem = (value: unknown): string => Buffer.from(text(value), "base64").toString("utf8");
  const caCertificate = pem(field(cluster, "certificate-authority-data"));
  // Without one, Node would trust the system's authorities.
  if (caCertificate === "")
    throw new Error("the kubeconfig has no certificate-authority-data: nothing else is trusted");
  return {
    server: text(field(cluster, "server")),
    caCertificate,
    client: { certificate: pem(field(user, "client-certificate-data")), key: pem(field(user, "client-key-data")) },
  };
}
