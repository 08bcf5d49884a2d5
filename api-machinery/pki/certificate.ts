/** Creates X.509 certificates: private certificate authorities, and the certificates that they issue. Keys
 *  are P-256 unless the caller passes others. Source: RFC 5280. */
import {
  createHash,
  createPrivateKey,
  createPublicKey,
  generateKeyPairSync,
  type KeyObject,
  randomBytes,
  sign,
  X509Certificate,
} from 'node:crypto';
import { isIPv4 } from 'node:net';
import * as der from './der.ts';
import { formatPem } from './pem.ts';

export interface Subject {
  /** May be empty. */
  readonly commonName: string;
  /** Groups of a user. */
  readonly organizations?: readonly string[];
  /** Further attributes, by their dotted identifiers. */
  readonly others?: readonly { readonly oid: string; readonly value: string }[];
}

/** Bits of KeyUsage by number. */
const KEY_USAGE_BITS = {
  digitalSignature: 0,
  contentCommitment: 1,
  keyEncipherment: 2,
  dataEncipherment: 3,
  keyAgreement: 4,
  certSign: 5,
  crlSign: 6,
  encipherOnly: 7,
  decipherOnly: 8,
} as const;

const EXTENDED_USAGES = {
  any: '2.5.29.37.0',
  serverAuth: '1.3.6.1.5.5.7.3.1',
  clientAuth: '1.3.6.1.5.5.7.3.2',
  codeSigning: '1.3.6.1.5.5.7.3.3',
  emailProtection: '1.3.6.1.5.5.7.3.4',
  ipsecEndSystem: '1.3.6.1.5.5.7.3.5',
  ipsecTunnel: '1.3.6.1.5.5.7.3.6',
  ipsecUser: '1.3.6.1.5.5.7.3.7',
  timeStamping: '1.3.6.1.5.5.7.3.8',
  ocspSigning: '1.3.6.1.5.5.7.3.9',
  microsoftSgc: '1.3.6.1.4.1.311.10.3.3',
  netscapeSgc: '2.16.840.1.113730.4.1',
} as const;

export type KeyUsage = keyof typeof KEY_USAGE_BITS;
export type ExtendedUsage = keyof typeof EXTENDED_USAGES;

/** Subject alternative names. */
export interface AlternativeNames {
  readonly dnsNames?: readonly string[];
  readonly ipAddresses?: readonly string[];
  readonly emailAddresses?: readonly string[];
  readonly uris?: readonly string[];
}

export interface CertificateTerms extends AlternativeNames {
  readonly subject: Subject;
  /** Of the subject. */
  readonly publicKey: KeyObject;
  /** Default: digitalSignature and keyEncipherment. */
  readonly keyUsages?: readonly KeyUsage[];
  /** Default: none. */
  readonly extendedUsages?: readonly ExtendedUsage[];
  readonly notBefore: Date;
  readonly notAfter: Date;
}

/** A key with its certificate, as PEM. */
export interface Identity {
  readonly certificate: string;
  readonly key: string;
}

const OIDS = {
  commonName: '2.5.4.3',
  organization: '2.5.4.10',
  basicConstraints: '2.5.29.19',
  keyUsage: '2.5.29.15',
  extendedUsage: '2.5.29.37',
  subjectAltName: '2.5.29.17',
  subjectKeyId: '2.5.29.14',
  authorityKeyId: '2.5.29.35',
  ecdsaWithSha256: '1.2.840.10045.4.3.2',
  rsaWithSha256: '1.2.840.113549.1.1.11',
} as const;

/** Creates a private key, P-256. */
export const createKey = (): KeyObject => generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey;

export const formatKey = (key: KeyObject): string => key.export({ type: 'pkcs8', format: 'pem' });

/** Encodes the distinguished name of a subject. */
export function formatName({ commonName, organizations = [], others = [] }: Subject): der.Asn1 {
  const attribute = (type: string, value: string): der.Asn1 =>
    der.set(der.sequence(der.oid(type), der.utf8(value)));
  return der.sequence(
    ...organizations.map((organization) => attribute(OIDS.organization, organization)),
    ...others.map(({ oid, value }) => attribute(oid, value)),
    ...(commonName === '' ? [] : [attribute(OIDS.commonName, commonName)]),
  );
}

/** Returns the bytes of an address, 4 or 16. @throws Error if it is invalid */
export function addressBytes(address: string): Buffer {
  if (isIPv4(address)) return Buffer.from(address.split('.').map(Number));
  const [head = '', tail] = address.toLowerCase().split('::');
  const groups = (text: string): number[] =>
    text === '' ? [] : text.split(':').map((word) => Number.parseInt(word, 16));
  const front = groups(head);
  const back = groups(tail ?? '');
  const all =
    tail === undefined
      ? front
      : [...front, ...Array.from({ length: 8 - front.length - back.length }, () => 0), ...back];
  if (all.length !== 8 || all.some((word) => !(word >= 0 && word <= 0xffff))) {
    throw new Error(`${address} is not an IP address`);
  }
  return Buffer.from(all.flatMap((word) => [word >> 8, word & 0xff]));
}

function extension(type: string, critical: boolean, value: der.Asn1): der.Asn1 {
  const body = der.octets(der.toDer(value));
  return critical ? der.sequence(der.oid(type), der.boolean(true), body) : der.sequence(der.oid(type), body);
}

const keyId = (key: KeyObject): Buffer =>
  createHash('sha256')
    .update(key.export({ type: 'spki', format: 'der' }))
    .digest()
    .subarray(0, 20);

const AUTHORITY_USAGES: readonly KeyUsage[] = ['digitalSignature', 'keyEncipherment', 'certSign', 'crlSign'];
const DEFAULT_USAGES: readonly KeyUsage[] = ['digitalSignature', 'keyEncipherment'];

/** Encodes a list of named bits, without trailing zeros. */
function usageBits(usages: readonly KeyUsage[]): der.Asn1 {
  const numbers = usages.map((usage) => KEY_USAGE_BITS[usage]);
  const last = Math.max(...numbers);
  const bytes = Buffer.alloc((last >> 3) + 1);
  for (const number of numbers) bytes[number >> 3] = (bytes[number >> 3] ?? 0) | (0x80 >> (number & 7));
  return der.bits(bytes, 7 - (last & 7));
}

/** Encodes the extension with subject alternative names. */
export function alternativeNames(terms: AlternativeNames): readonly der.Asn1[] {
  const { dnsNames = [], ipAddresses = [], emailAddresses = [], uris = [] } = terms;
  const text = (tag: number) => (value: string) => der.taggedBytes(tag, Buffer.from(value, 'ascii'));
  return [
    ...dnsNames.map(text(2)),
    ...emailAddresses.map(text(1)),
    ...ipAddresses.map((address) => der.taggedBytes(7, addressBytes(address))),
    ...uris.map(text(6)),
  ];
}

/** `root`: a self-signed authority; `cross`: an authority signed by another one. */
type CertificateKind = 'end' | 'root' | 'cross';

function extensions(terms: CertificateTerms, issuerKey: KeyObject, kind: CertificateKind): der.Asn1 {
  const authority = kind !== 'end';
  const { subject, extendedUsages = [], keyUsages = authority ? AUTHORITY_USAGES : DEFAULT_USAGES } = terms;
  const alternatives = alternativeNames(terms);
  const usages = extendedUsages.map((usage) => der.oid(EXTENDED_USAGES[usage]));
  // Without a subject, the alternative names are the identity, and the extension is critical.
  const nameless = subject.commonName === '' && der.childrenOf(formatName(subject)).length === 0;
  return der.sequence(
    ...(keyUsages.length === 0 ? [] : [extension(OIDS.keyUsage, true, usageBits(keyUsages))]),
    ...(usages.length === 0 ? [] : [extension(OIDS.extendedUsage, false, der.sequence(...usages))]),
    extension(OIDS.basicConstraints, true, authority ? der.sequence(der.boolean(true)) : der.sequence()),
    extension(OIDS.subjectKeyId, false, der.octets(keyId(terms.publicKey))),
    ...(kind === 'root'
      ? []
      : [extension(OIDS.authorityKeyId, false, der.sequence(der.taggedBytes(0, keyId(issuerKey))))]),
    ...(alternatives.length === 0
      ? []
      : [extension(OIDS.subjectAltName, nameless, der.sequence(...alternatives))]),
  );
}

/** Returns the signature algorithm of the key: ECDSA or RSA, with SHA-256. */
export function signatureAlgorithm(key: KeyObject): der.Asn1 {
  return key.asymmetricKeyType === 'rsa'
    ? der.sequence(der.oid(OIDS.rsaWithSha256), der.nothing())
    : der.sequence(der.oid(OIDS.ecdsaWithSha256));
}

interface Issuer {
  /** Its subject exactly as in its own certificate. */
  readonly name: der.Asn1;
  readonly key: KeyObject;
}

function makeCertificate(
  terms: CertificateTerms,
  issuer: Issuer,
  kind: CertificateKind,
  name: der.Asn1 = formatName(terms.subject),
): string {
  const algorithm = signatureAlgorithm(issuer.key);
  const serial = randomBytes(16);
  serial[0] = ((serial[0] ?? 0) & 0x7f) | 0x40;
  const body = der.sequence(
    der.tagged(0, der.integer(2)),
    der.bigInteger(serial),
    algorithm,
    issuer.name,
    der.sequence(der.time(terms.notBefore), der.time(terms.notAfter)),
    name,
    der.fromDer(terms.publicKey.export({ type: 'spki', format: 'der' })),
    der.tagged(3, extensions(terms, createPublicKey(issuer.key), kind)),
  );
  const signature = sign('sha256', der.toDer(body), issuer.key);
  return formatPem('CERTIFICATE', der.toDer(der.sequence(body, algorithm, der.bits(signature))));
}

/** Creates a certificate authority with a new key. */
export function createAuthority(subject: Subject, notBefore: Date, notAfter: Date): Identity {
  const key = createKey();
  const terms = { subject, publicKey: createPublicKey(key), notBefore, notAfter };
  return {
    certificate: makeCertificate(terms, { name: formatName(subject), key }, 'root'),
    key: formatKey(key),
  };
}

/** Issues a self-signed certificate (PEM) that is not an authority. */
export function issueSelfSigned(key: KeyObject, terms: CertificateTerms): string {
  return makeCertificate(terms, { name: formatName(terms.subject), key }, 'end');
}

/** Returns the subject of a certificate, exactly as encoded there. */
function subjectOf(certificate: X509Certificate): der.Asn1 {
  const [body] = der.childrenOf(der.fromDer(certificate.raw));
  // version, serial, algorithm, issuer, validity, subject
  const subject = body === undefined ? undefined : der.childrenOf(body)[5];
  if (subject === undefined) throw new Error('the certificate has no subject');
  return subject;
}

const issuerOf = ({ certificate, key }: Identity): Issuer => ({
  name: subjectOf(new X509Certificate(certificate)),
  key: createPrivateKey(key),
});

/** Issues a certificate (PEM) signed by the authority. */
export function issueCertificate(authority: Identity, terms: CertificateTerms): string {
  return makeCertificate(terms, issuerOf(authority), 'end');
}

/** Certifies another authority: who trusts the first one then accepts the certificates of the other. Valid as
 *  long as both are. Without extended usages, for any purpose. */
export function crossSign(
  authority: Identity,
  other: string,
  extendedUsages: readonly ExtendedUsage[] = [],
): string {
  const [own, certified] = [new X509Certificate(authority.certificate), new X509Certificate(other)];
  const timesOf = (text: (each: X509Certificate) => string): readonly number[] =>
    [own, certified].map((each) => Date.parse(text(each)));
  const terms: CertificateTerms = {
    subject: { commonName: '' },
    publicKey: certified.publicKey,
    extendedUsages,
    notBefore: new Date(Math.max(...timesOf(({ validFrom }) => validFrom))),
    notAfter: new Date(Math.min(...timesOf(({ validTo }) => validTo))),
  };
  return makeCertificate(terms, issuerOf(authority), 'cross', subjectOf(certified));
}

/** Creates a new key and issues its certificate. */
export function issueIdentity(authority: Identity, terms: Omit<CertificateTerms, 'publicKey'>): Identity {
  const key = createKey();
  return {
    certificate: issueCertificate(authority, { ...terms, publicKey: createPublicKey(key) }),
    key: formatKey(key),
  };
}
