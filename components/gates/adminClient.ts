import * as pulumi from "@pulumi/pulumi";
import { ports } from "../model/ports.ts";
import type { Pki } from "../pki/pki.ts";
import type { ApiClient } from "./apiProbe.ts";

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
