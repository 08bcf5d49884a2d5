/** Settings of certificates and TLS. */
import type { SettingsOf } from './setting.ts';

/** Durations are in ms. */
export interface CertificateConfig {
  readonly tlsCertFile: string;
  readonly tlsPrivateKeyFile: string;
  readonly tlsSniCertKey: readonly string[];
  readonly tlsMinVersion: string;
  readonly tlsCipherSuites: readonly string[];
  readonly strictTransportSecurityDirectives: readonly string[];
  readonly corsAllowedOrigins: readonly string[];
  readonly certSANs: readonly string[];
  readonly certDir: string;
  readonly rootCaFile: string;
  readonly clusterSigningDuration: number;
  readonly clusterSigningCertFile: string;
  readonly clusterSigningKeyFile: string;
  readonly clusterSigningNodeagentServingCertFile: string;
  readonly clusterSigningNodeagentServingKeyFile: string;
  readonly clusterSigningNodeagentClientCertFile: string;
  readonly clusterSigningNodeagentClientKeyFile: string;
  readonly clusterSigningApiserverClientCertFile: string;
  readonly clusterSigningApiserverClientKeyFile: string;
  readonly clusterSigningLegacyUnknownCertFile: string;
  readonly clusterSigningLegacyUnknownKeyFile: string;
  readonly proxyClientCertFile: string;
  readonly proxyClientKeyFile: string;
}

export const CERTIFICATES: SettingsOf<CertificateConfig> = {
  tlsCertFile: {
    flag: 'tls-cert-file',
    type: 'string',
    default: '',
    group: 'Serving',
    help: 'serving certificate, used instead of a generated one',
  },
  tlsPrivateKeyFile: {
    flag: 'tls-private-key-file',
    type: 'string',
    default: '',
    group: 'Serving',
    help: 'private key of --tls-cert-file',
  },
  tlsSniCertKey: {
    flag: 'tls-sni-cert-key',
    type: 'list',
    whole: true,
    default: [],
    group: 'Serving',
    help: 'certificate and key for some server names, CERT,KEY or CERT,KEY:*.example.org,example.com; default: the names in the certificate; may be repeated',
  },
  tlsMinVersion: {
    flag: 'tls-min-version',
    type: 'string',
    default: 'VersionTLS12',
    choices: ['VersionTLS10', 'VersionTLS11', 'VersionTLS12', 'VersionTLS13'],
    group: 'Serving',
    help: 'minimum TLS version',
  },
  tlsCipherSuites: {
    flag: 'tls-cipher-suites',
    type: 'list',
    default: [],
    group: 'Serving',
    help: 'cipher suites of TLS 1.2 and older, by Go’s names; default: those with forward secrecy and authenticated encryption',
  },
  strictTransportSecurityDirectives: {
    flag: 'strict-transport-security-directives',
    type: 'list',
    default: [],
    group: 'Serving',
    help: 'directives of the HSTS header: max-age=SECONDS, includeSubDomains, preload; default: no header',
  },
  corsAllowedOrigins: {
    flag: 'cors-allowed-origins',
    type: 'list',
    default: [],
    group: 'Serving',
    help: 'origins of pages that browsers allow to read responses, as regular expressions that match any part; default: no CORS headers',
  },
  certSANs: {
    flag: 'cert-sans',
    type: 'list',
    default: [],
    group: 'Serving',
    help: 'additional names and addresses for the generated certificate',
  },
  certDir: {
    flag: 'cert-dir',
    type: 'string',
    default: '',
    group: 'Storage',
    help: 'directory for generated keys and certificates; default: pki in the data directory',
  },
  rootCaFile: {
    flag: 'root-ca-file',
    type: 'string',
    default: '',
    group: 'Authentication',
    help: 'CA published to pods as root CA; default: the server’s own',
  },
  clusterSigningDuration: {
    flag: 'cluster-signing-duration',
    type: 'duration',
    default: '8760h',
    group: 'Authentication',
    help: 'maximum duration of signed certificates; requests may specify a shorter one',
  },
  clusterSigningCertFile: {
    flag: 'cluster-signing-cert-file',
    type: 'string',
    default: '',
    group: 'Authentication',
    help: 'CA for all built-in signers; excludes the flags of single signers; default: generated CAs',
  },
  clusterSigningKeyFile: {
    flag: 'cluster-signing-key-file',
    type: 'string',
    default: '',
    group: 'Authentication',
    help: 'private key of --cluster-signing-cert-file',
  },
  clusterSigningNodeagentServingCertFile: {
    flag: 'cluster-signing-nodeagent-serving-cert-file',
    type: 'string',
    default: '',
    group: 'Authentication',
    help: 'CA for serving certificates of node agents',
  },
  clusterSigningNodeagentServingKeyFile: {
    flag: 'cluster-signing-nodeagent-serving-key-file',
    type: 'string',
    default: '',
    group: 'Authentication',
    help: 'private key of --cluster-signing-nodeagent-serving-cert-file',
  },
  clusterSigningNodeagentClientCertFile: {
    flag: 'cluster-signing-nodeagent-client-cert-file',
    type: 'string',
    default: '',
    group: 'Authentication',
    help: 'CA for client certificates of node agents',
  },
  clusterSigningNodeagentClientKeyFile: {
    flag: 'cluster-signing-nodeagent-client-key-file',
    type: 'string',
    default: '',
    group: 'Authentication',
    help: 'private key of --cluster-signing-nodeagent-client-cert-file',
  },
  clusterSigningApiserverClientCertFile: {
    flag: 'cluster-signing-apiserver-client-cert-file',
    type: 'string',
    default: '',
    group: 'Authentication',
    help: 'CA for client certificates',
  },
  clusterSigningApiserverClientKeyFile: {
    flag: 'cluster-signing-apiserver-client-key-file',
    type: 'string',
    default: '',
    group: 'Authentication',
    help: 'private key of --cluster-signing-apiserver-client-cert-file',
  },
  clusterSigningLegacyUnknownCertFile: {
    flag: 'cluster-signing-legacy-unknown-cert-file',
    type: 'string',
    default: '',
    group: 'Authentication',
    help: 'CA for the signer legacy-unknown',
  },
  clusterSigningLegacyUnknownKeyFile: {
    flag: 'cluster-signing-legacy-unknown-key-file',
    type: 'string',
    default: '',
    group: 'Authentication',
    help: 'private key of --cluster-signing-legacy-unknown-cert-file',
  },
  proxyClientCertFile: {
    flag: 'proxy-client-cert-file',
    type: 'string',
    default: '',
    group: 'API',
    help: 'client certificate for aggregated servers; default: a generated one',
  },
  proxyClientKeyFile: {
    flag: 'proxy-client-key-file',
    type: 'string',
    default: '',
    group: 'API',
    help: 'private key of --proxy-client-cert-file',
  },
};
