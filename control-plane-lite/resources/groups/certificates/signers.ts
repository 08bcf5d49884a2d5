/** Built-in signers: the subjects and usages that each certifies. Pure. Source: table of signers, document 2
 *  §2.5. */
import type { ExtendedUsage, KeyUsage } from '#api/pki/certificate.ts';
import type { Vocabulary } from '#api/vocabulary.ts';
import type { RequestContent } from './request-content.ts';

export type SignerKind = 'client' | 'node-client' | 'node-serving' | 'legacy';

export const NODES_GROUP = 'system:nodes';
export const NODE_USER_PREFIX = 'system:node:';

/** The kind of a signer of the vocabulary; `undefined`: it is another's. */
export function signerKind(signerName: string, vocabulary: Vocabulary): SignerKind | undefined {
  const { domain, apiServerClientSigner, nodeClientSigner, nodeServingSigner } = vocabulary;
  const kinds: ReadonlyMap<string, SignerKind> = new Map([
    [`${domain}/${apiServerClientSigner}`, 'client'],
    [`${domain}/${nodeClientSigner}`, 'node-client'],
    [`${domain}/${nodeServingSigner}`, 'node-serving'],
    [`${domain}/legacy-unknown`, 'legacy'],
  ]);
  return kinds.get(signerName);
}

const KEY_USAGES: ReadonlyMap<string, KeyUsage> = new Map([
  ['signing', 'digitalSignature'],
  ['digital signature', 'digitalSignature'],
  ['content commitment', 'contentCommitment'],
  ['key encipherment', 'keyEncipherment'],
  ['key agreement', 'keyAgreement'],
  ['data encipherment', 'dataEncipherment'],
  ['cert sign', 'certSign'],
  ['crl sign', 'crlSign'],
  ['encipher only', 'encipherOnly'],
  ['decipher only', 'decipherOnly'],
]);

const EXTENDED_USAGES: ReadonlyMap<string, ExtendedUsage> = new Map([
  ['any', 'any'],
  ['server auth', 'serverAuth'],
  ['client auth', 'clientAuth'],
  ['code signing', 'codeSigning'],
  ['email protection', 'emailProtection'],
  ['s/mime', 'emailProtection'],
  ['ipsec end system', 'ipsecEndSystem'],
  ['ipsec tunnel', 'ipsecTunnel'],
  ['ipsec user', 'ipsecUser'],
  ['timestamping', 'timeStamping'],
  ['ocsp signing', 'ocspSigning'],
  ['microsoft sgc', 'microsoftSgc'],
  ['netscape sgc', 'netscapeSgc'],
]);

/** Certificate extensions for the usages of a request. */
export function certificateUsages(usages: readonly string[]): {
  readonly keyUsages: readonly KeyUsage[];
  readonly extendedUsages: readonly ExtendedUsage[];
} {
  return {
    keyUsages: [...new Set(usages.flatMap((usage) => KEY_USAGES.get(usage) ?? []))],
    extendedUsages: [...new Set(usages.flatMap((usage) => EXTENDED_USAGES.get(usage) ?? []))],
  };
}

const sameSet = (given: readonly string[], wanted: readonly string[]): boolean =>
  new Set(given).size === wanted.length && wanted.every((usage) => given.includes(usage));

const NODE_CLIENT_USAGES = ['key encipherment', 'digital signature', 'client auth'];
const NODE_SERVING_USAGES = ['key encipherment', 'digital signature', 'server auth'];
const CLIENT_USAGES: ReadonlySet<string> = new Set(NODE_CLIENT_USAGES);

function clientError(usages: readonly string[]): string | undefined {
  const other = usages.find((usage) => !CLIENT_USAGES.has(usage));
  if (other !== undefined) return `invalid usage for client certificate: ${other}`;
  return usages.includes('client auth')
    ? undefined
    : 'missing required usage for client certificate: client auth';
}

function nodeError(
  content: RequestContent,
  usages: readonly string[],
  wanted: readonly string[],
): string | undefined {
  const { commonName, organizations } = content;
  if (organizations.length !== 1 || organizations[0] !== NODES_GROUP) {
    return `subject organization is not ${NODES_GROUP}`;
  }
  if (!commonName.startsWith(NODE_USER_PREFIX)) {
    return `subject common name does not begin with ${NODE_USER_PREFIX}`;
  }
  if (!sameSet(usages, wanted)) return `usages did not match ${wanted.join(', ')}`;
  if (content.emailAddresses.length > 0) return 'email subjectAltNames are not allowed';
  return content.uris.length > 0 ? 'URI subjectAltNames are not allowed' : undefined;
}

function nodeClientError(content: RequestContent, usages: readonly string[]): string | undefined {
  if (content.dnsNames.length > 0) return 'DNS subjectAltNames are not allowed';
  if (content.ipAddresses.length > 0) return 'IP subjectAltNames are not allowed';
  return nodeError(content, usages, NODE_CLIENT_USAGES);
}

function nodeServingError(content: RequestContent, usages: readonly string[]): string | undefined {
  if (content.dnsNames.length + content.ipAddresses.length === 0) {
    return 'DNS or IP subjectAltName is required';
  }
  return nodeError(content, usages, NODE_SERVING_USAGES);
}

/** Why the signer does not sign; `undefined`: it does. */
export function signerError(
  kind: SignerKind,
  content: RequestContent,
  usages: readonly string[],
): string | undefined {
  if (content.wantsAuthority) return 'a certificate of an authority is not allowed';
  switch (kind) {
    case 'client':
      return clientError(usages);
    case 'node-client':
      return nodeClientError(content, usages);
    case 'node-serving':
      return nodeServingError(content, usages);
    case 'legacy':
      return undefined;
    default:
      return kind satisfies never;
  }
}
