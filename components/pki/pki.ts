import * as pulumi from "@pulumi/pulumi";
import * as random from "@pulumi/random";
import * as tls from "@pulumi/tls";
import { stringify } from "yaml";
import type { ClusterSpec } from "../model/clusterSpec.ts";
import {
  administratorsGroup,
  discoveryDocument,
  encryptionSecret,
  firstServiceAccountKey,
  keySet,
  type ServiceAccountTokens,
} from "../model/keyLists.ts";

interface PkiArgs {
  readonly cluster: string;
  /** Refuse to delete the authorities, the service-account key and the encryption key. */
  readonly protect: boolean;
  /** Names of the keys of service accounts; the first signs. `ecdsa` is a P-256 key, every other one RSA-2048. */
  readonly serviceAccountKeys: readonly string[];
  /** Names of the keys of the encryption of Secrets; the first encrypts. */
  readonly encryptionKeys: readonly string[];
  readonly kubeconfigGeneration: number;
}

/** PEM. */
interface KeyPair {
  readonly certificate: pulumi.Output<string>;
  /** Secret. */
  readonly key: pulumi.Output<string>;
}

interface Authority {
  readonly key: tls.PrivateKey;
  readonly certificate: tls.SelfSignedCert;
}

const hoursPerDay = 24;
/** Validity of the authorities, as kubeadm has it. */
const authorityHours = 10 * 365 * hoursPerDay;
/** Validity of the administrators' certificates. */
const adminHours = 365 * hoursPerDay;
/** An update within this time before their end renews them. */
const adminRenewalHours = 90 * hoursPerDay;

/** Certificate and key of an authority together stay far below the 4,096 characters of one SSM parameter. */
const keyType = { algorithm: "ECDSA", ecdsaCurve: "P256" } as const;
/** Entra ID takes tokens signed with RSA only (AADSTS5002738). With 1,700 characters it fits into one parameter too. */
const rsaKeyType = { algorithm: "RSA", rsaBits: 2048 } as const;

/**
 * The keys of a cluster, made before any machine: the kubeconfig is an output, and every control-plane machine finds
 * its authorities ready. The price: they are, encrypted, in the Pulumi state. Only the administrators' certificates
 * renew by themselves: a new authority would lock every node out.
 */
export class Pki extends pulumi.ComponentResource {
  readonly kubernetesCa: KeyPair;
  readonly etcdCa: KeyPair;
  readonly frontProxyCa: KeyPair;
  /** Private key that signs service-account tokens, PEM. Secret. */
  readonly serviceAccountKey: pulumi.Output<string>;
  /** PEM, of all accepted service-account keys, the signing one first. */
  readonly serviceAccountPublicKeys: pulumi.Output<readonly string[]>;
  /** Keys of the encryption of Secrets at rest: 32 random bytes in base64. Secret. */
  readonly encryptionKeys: readonly (readonly [name: string, key: pulumi.Output<string>])[];
  /** Serial number of the cluster's authority. */
  readonly identifier: pulumi.Output<string>;
  /** The program's own client certificate, of the group `kubeadm:cluster-admins`; it is nowhere but in the state. */
  readonly admin: KeyPair;
  /** Client certificate for people, of a group that is bound while this is its generation. */
  readonly people: KeyPair;

  readonly #args: PkiArgs;

  constructor(name: string, args: PkiArgs, opts?: pulumi.ComponentResourceOptions) {
    super("fenestra:pki:Pki", name, {}, opts);
    this.#args = args;
    // The names of kubeadm's own authorities (kubernetes/kubernetes: cmd/kubeadm/app/phases/certs/certlist.go).
    const kubernetesCa = this.#authority(`${name}-kubernetes-ca`, "kubernetes");
    this.kubernetesCa = keyPair(kubernetesCa);
    this.identifier = kubernetesCa.certificate.id;
    this.etcdCa = keyPair(this.#authority(`${name}-etcd-ca`, "etcd-ca"));
    this.frontProxyCa = keyPair(this.#authority(`${name}-front-proxy-ca`, "front-proxy-ca"));
    const [signing, ...accepted] = this.#makeServiceAccountKeys(`${name}-service-account`);
    if (signing === undefined) throw new RangeError("a cluster needs a key of service accounts");
    this.serviceAccountKey = signing.privateKeyPem;
    this.serviceAccountPublicKeys = pulumi.all([signing, ...accepted].map(({ publicKeyPem }) => publicKeyPem));
    this.encryptionKeys = this.#makeEncryptionKeys(`${name}-encryption-key`);
    this.admin = this.#client(`${name}-admin`, {
      commonName: "kubernetes-admin",
      organization: "kubeadm:cluster-admins",
    });
    const { kubeconfigGeneration: generation } = args;
    const organization = administratorsGroup(generation);
    this.people = this.#client(`${name}-people-${generation}`, { commonName: "fenestra-administrator", organization });
    this.registerOutputs({ kubernetesCa: this.kubernetesCa.certificate });
  }

  /** A kubeconfig of one of the two administrators for the API at `server`. Secret. */
  kubeconfig(who: "admin" | "people", server: pulumi.Input<string>): pulumi.Output<string> {
    const parts = pulumi.all([server, this.kubernetesCa.certificate, this[who].certificate, this[who].key]);
    return pulumi.secret(
      parts.apply(([url, caCertificate, clientCertificate, clientKey]) =>
        kubeconfig({ cluster: this.#args.cluster, server: url, caCertificate, clientCertificate, clientKey }),
      ),
    );
  }

  /**
   * How control-plane machines issue and check tokens of service accounts; `undefined` for kubeadm's way: one key, the
   * cluster as issuer.
   *
   * @param issuer URL that clouds know the cluster by
   */
  tokens(issuer: pulumi.Output<string> | undefined): pulumi.Output<ServiceAccountTokens> | undefined {
    if (this.#args.serviceAccountKeys.length === 1 && issuer === undefined) return undefined;
    return pulumi
      .all([this.serviceAccountPublicKeys, issuer])
      .apply(([publicKeys, known]) => ({ publicKeys, issuer: known }));
  }

  /** A key that signs no longer is not protected: removing it is the last step of its replacement. */
  #makeServiceAccountKeys(name: string): readonly tls.PrivateKey[] {
    return this.#args.serviceAccountKeys.map((key, index) => {
      const options = { parent: this, protect: this.#args.protect && index === 0 };
      return key === firstServiceAccountKey
        ? new tls.PrivateKey(name, keyType, options)
        : new tls.PrivateKey(`${name}-${key}`, rsaKeyType, options);
    });
  }

  /** As with service accounts, only the key that encrypts is protected. */
  #makeEncryptionKeys(name: string): Pki["encryptionKeys"] {
    return this.#args.encryptionKeys.map((key, index) => {
      const options = { parent: this, protect: this.#args.protect && index === 0 };
      return [key, new random.RandomBytes(encryptionSecret(name, key), { length: 32 }, options).base64];
    });
  }

  #authority(name: string, commonName: string): Authority {
    const key = new tls.PrivateKey(name, keyType, { parent: this, protect: this.#args.protect });
    const certificate = new tls.SelfSignedCert(
      name,
      {
        privateKeyPem: key.privateKeyPem,
        isCaCertificate: true,
        setSubjectKeyId: true,
        subject: { commonName },
        allowedUses: ["cert_signing", "crl_signing", "digital_signature", "key_encipherment"],
        validityPeriodHours: authorityHours,
      },
      {
        parent: this,
        protect: this.#args.protect,
        // A change of any of these, by a later version of this program, would force a new certificate.
        ignoreChanges: ["allowedUses", "earlyRenewalHours", "setSubjectKeyId", "subject", "validityPeriodHours"],
      },
    );
    // In a preview before the first update the end is unknown, and there is no message.
    certificate.validityEndTime.apply((end) => {
      const warning = expiryWarning(commonName, end, Date.now());
      if (warning !== undefined) void pulumi.log.warn(warning, this);
    });
    return { key, certificate };
  }

  #client(name: string, subject: { readonly commonName: string; readonly organization: string }): KeyPair {
    const key = new tls.PrivateKey(name, keyType, { parent: this });
    const request = new tls.CertRequest(name, { privateKeyPem: key.privateKeyPem, subject }, { parent: this });
    const certificate = new tls.LocallySignedCert(
      name,
      {
        certRequestPem: request.certRequestPem,
        caCertPem: this.kubernetesCa.certificate,
        caPrivateKeyPem: this.kubernetesCa.key,
        allowedUses: ["digital_signature", "client_auth"],
        validityPeriodHours: adminHours,
        earlyRenewalHours: adminRenewalHours,
      },
      { parent: this },
    );
    return { certificate: certificate.certPem, key: pulumi.secret(key.privateKeyPem) };
  }
}

/** The PKI with the keys that a spec names; what cannot be made again is protected in production. */
export function clusterPki(name: string, spec: ClusterSpec, parent: pulumi.Resource): Pki {
  const { name: cluster, environment, serviceAccountKeys, secretsEncryption, kubeconfigGeneration } = spec;
  const keys = { serviceAccountKeys, encryptionKeys: secretsEncryption.keys, kubeconfigGeneration };
  return new Pki(name, { cluster, protect: environment === "production", ...keys }, { parent });
}

function keyPair({ key, certificate }: Authority): KeyPair {
  return { certificate: certificate.certPem, key: pulumi.secret(key.privateKeyPem) };
}

/**
 * What control-plane machines read besides the keys of the encryption, by the names of `ControlPlaneSecrets`:
 * certificate and key in one text, or one key.
 */
export function controlPlaneKeys(pki: Pki) {
  return [
    ["kubernetesCa", pair(pki.kubernetesCa)],
    ["etcdCa", pair(pki.etcdCa)],
    ["frontProxyCa", pair(pki.frontProxyCa)],
    ["serviceAccount", pki.serviceAccountKey],
  ] as const;
}

function pair({ certificate, key }: KeyPair): pulumi.Output<string> {
  return pulumi.interpolate`${certificate}${key}`;
}

/** The two documents by which a cloud checks service accounts' tokens. @param publicKeys PEM */
export function issuerDocuments(issuer: pulumi.Output<string>, publicKeys: pulumi.Input<readonly string[]>) {
  const keys = pulumi.output(publicKeys);
  const discovery = pulumi.all([issuer, keys]).apply(([url, known]) => discoveryDocument(url, known));
  return { discovery, keySet: keys.apply(keySet) };
}

const dayMs = 86_400_000;

/** Days before an authority's end from which a warning is shown: its replacement touches every machine. */
const warningDays = 90;

/**
 * Warning about an authority that expires soon, or `undefined`.
 *
 * @param end RFC 3339, as the tls provider gives it
 * @param now milliseconds since the epoch
 */
export function expiryWarning(name: string, end: string, now: number): string | undefined {
  const days = Math.floor((Date.parse(end) - now) / dayMs);
  if (Number.isNaN(days) || days >= warningDays) return undefined;
  const when = days < 0 ? `has run out on ${end}` : `runs out on ${end}, in ${days} days`;
  return `The certificate authority ${name} ${when}; it is not renewed automatically. docs/operations/keys.md says how to replace it.`;
}

interface KubeconfigArgs {
  /** Name of cluster and context, and beginning of the user's. */
  readonly cluster: string;
  /** URL of the API: `https://host:6443`. */
  readonly server: string;
  /** Of the cluster's authority, PEM. */
  readonly caCertificate: string;
  /** PEM. */
  readonly clientCertificate: string;
  /** PEM. */
  readonly clientKey: string;
}

/** A kubeconfig with an embedded client certificate, as YAML. Pure. The result is a secret. */
export function kubeconfig(args: KubeconfigArgs): string {
  return render(args, `${args.cluster}-admin`, {
    "client-certificate-data": base64(args.clientCertificate),
    "client-key-data": base64(args.clientKey),
  });
}

interface SignInKubeconfigArgs extends Pick<KubeconfigArgs, "cluster" | "server" | "caCertificate"> {
  readonly issuer: Pick<
    ClusterSpec["signIn"][number],
    "name" | "issuer" | "clientId" | "usernameClaim" | "certificateAuthority"
  >;
}

/**
 * A kubeconfig without a secret: kubectl's plug-in `oidc-login` (int128/kubelogin, docs/usage.md) fetches a token by a
 * browser.
 */
export function signInKubeconfig(args: SignInKubeconfigArgs): string {
  const { name, issuer, clientId, usernameClaim, certificateAuthority } = args.issuer;
  // The address comes only with its scope. Other scopes differ by issuer, and some refuse unknown ones.
  const scopes = ["email"].filter((scope) => scope === usernameClaim);
  return render(args, name, {
    exec: {
      apiVersion: "client.authentication.k8s.io/v1",
      command: "kubectl",
      args: [
        "oidc-login",
        "get-token",
        `--oidc-issuer-url=${issuer}`,
        `--oidc-client-id=${clientId}`,
        ...scopes.map((scope) => `--oidc-extra-scope=${scope}`),
        ...(certificateAuthority === undefined ? [] : [`--certificate-authority-data=${base64(certificateAuthority)}`]),
      ],
      installHint: "kubectl krew install oidc-login, see https://github.com/int128/kubelogin",
      interactiveMode: "IfAvailable",
    },
  });
}

function render(
  args: Pick<KubeconfigArgs, "cluster" | "server" | "caCertificate">,
  user: string,
  credentials: object,
): string {
  const { cluster, server, caCertificate } = args;
  return stringify({
    apiVersion: "v1",
    kind: "Config",
    clusters: [{ name: cluster, cluster: { server, "certificate-authority-data": base64(caCertificate) } }],
    users: [{ name: user, user: credentials }],
    contexts: [{ name: cluster, context: { cluster, user } }],
    "current-context": cluster,
  });
}

function base64(text: string): string {
  return Buffer.from(text, "utf8").toString("base64");
}
