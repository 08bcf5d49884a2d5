/** Constraints that a certificate imposes on its chains: whether it may sign, the path length, the key
 *  usages, and the names. Parses the DER, because Node exposes only some of it. Pure. Source: RFC 5280, 4.2;
 *  Go's crypto/x509, which upstream uses. */
import type { X509Certificate } from 'node:crypto';
import forge from 'node-forge';
import { type Asn1, childrenOf, fromDer } from '#api/pki/der.ts';

/** Subject name of a type that constraints are evaluated for. */
export interface GeneralName {
  readonly kind: 'email' | 'dns' | 'uri' | 'ip';
  /** Of an address the bytes (with a mask, in a constraint), of the others the text. */
  readonly value: Buffer;
}

export interface NameConstraints {
  readonly permitted: readonly GeneralName[];
  readonly excluded: readonly GeneralName[];
}

export interface CertificateLimits {
  /** `undefined` without basic constraints. */
  readonly isCa: boolean | undefined;
  /** Maximum number of intermediate CAs below this one. */
  readonly pathLength: number | undefined;
  /** Whether the key usage allows it; `undefined` if it is not specified. */
  readonly mayCertify: boolean | undefined;
  /** Identifiers of extended usages; `undefined`: any. */
  readonly usages: readonly string[] | undefined;
  readonly constraints: NameConstraints | undefined;
  /** Names beside the subject. */
  readonly names: readonly GeneralName[];
}

/** The certificate is malformed, or has a constraint that cannot be evaluated. */
export class CertificateLimitsError extends Error {
  override readonly name = 'CertificateLimitsError';
}

const { Class } = forge.asn1;

/** Critical extensions that do not constrain chains, or that are checked elsewhere. */
const UNDERSTOOD: ReadonlySet<string> = new Set(['2.5.29.14', '2.5.29.32', '2.5.29.35', '1.3.6.1.5.5.7.1.1']);
const KEY_USAGE = '2.5.29.15';
const ALTERNATIVE_NAMES = '2.5.29.17';
const BASIC_CONSTRAINTS = '2.5.29.19';
const NAME_CONSTRAINTS = '2.5.29.30';
const EXTENDED_USAGE = '2.5.29.37';

const NAME_KINDS = new Map<number, GeneralName['kind']>([
  [1, 'email'],
  [2, 'dns'],
  [6, 'uri'],
  [7, 'ip'],
]);

const KEY_CERT_SIGN = 0x04;

interface Extension {
  readonly critical: boolean;
  readonly value: Buffer;
}

const tagOf = ({ type }: Asn1): number => type;
const isTagged = ({ tagClass }: Asn1): boolean => tagClass === Class.CONTEXT_SPECIFIC;

function bytesOf({ value }: Asn1): Buffer {
  if (typeof value !== 'string') throw new CertificateLimitsError('a primitive value has elements');
  return Buffer.from(value, 'latin1');
}

const oidOf = (item: Asn1): string => forge.asn1.derToOid(bytesOf(item).toString('latin1'));

/** By identifier. @throws CertificateLimitsError if one is there twice */
function extensionsOf(raw: Buffer): ReadonlyMap<string, Extension> {
  const [body] = childrenOf(fromDer(raw));
  const list =
    body === undefined ? undefined : childrenOf(body).find((item) => isTagged(item) && tagOf(item) === 3);
  const found = new Map<string, Extension>();
  for (const item of list === undefined ? [] : childrenOf(childrenOf(list)[0] ?? list)) {
    const parts = childrenOf(item);
    const [type, value] = [parts[0], parts.at(-1)];
    if (type === undefined || value === undefined) throw new CertificateLimitsError('an extension is empty');
    const oid = oidOf(type);
    if (found.has(oid)) throw new CertificateLimitsError(`extension ${oid} occurs more than once`);
    const critical = parts.length === 3 && parts[1] !== undefined && bytesOf(parts[1])[0] !== 0;
    found.set(oid, { critical, value: bytesOf(value) });
  }
  return found;
}

/** Names of kinds that are understood; `undefined` among them for others. */
function namesIn(items: readonly Asn1[]): readonly (GeneralName | undefined)[] {
  return items.map((item) => {
    const kind = isTagged(item) ? NAME_KINDS.get(tagOf(item)) : undefined;
    return kind === undefined ? undefined : { kind, value: bytesOf(item) };
  });
}

function basicConstraints(value: Buffer): Pick<CertificateLimits, 'isCa' | 'pathLength'> {
  const parts = childrenOf(fromDer(value));
  const [first] = parts;
  const isCa = first !== undefined && tagOf(first) === 1 && bytesOf(first)[0] !== 0;
  const length = parts.find((part) => tagOf(part) === 2);
  if (length === undefined) return { isCa, pathLength: undefined };
  const bytes = bytesOf(length);
  if (bytes.length === 0 || bytes.length > 4 || (bytes[0] ?? 0) >= 0x80)
    throw new CertificateLimitsError('the path length constraint is not a small integer');
  return { isCa, pathLength: bytes.readUIntBE(0, bytes.length) };
}

/** @throws CertificateLimitsError if a constraint is of a kind that is not evaluated, such as a directory name */
function nameConstraints(value: Buffer): NameConstraints {
  const parts = childrenOf(fromDer(value));
  const listOf = (tag: number): readonly GeneralName[] => {
    const subtrees = parts.find((part) => isTagged(part) && tagOf(part) === tag);
    return (subtrees === undefined ? [] : childrenOf(subtrees)).map((subtree) => {
      const [base, ...bounds] = childrenOf(subtree);
      const [name] = base === undefined ? [] : namesIn([base]);
      if (name === undefined || bounds.length > 0)
        throw new CertificateLimitsError('the certificate has name constraints of an unsupported type');
      return name;
    });
  };
  return { permitted: listOf(0), excluded: listOf(1) };
}

function keyUsage(value: Buffer): boolean {
  // The first byte counts the unused bits.
  return ((bytesOf(fromDer(value))[1] ?? 0) & KEY_CERT_SIGN) !== 0;
}

/** @throws CertificateLimitsError if it is malformed, or has an unknown critical extension or constraint */
export function limitsOf({ raw }: Pick<X509Certificate, 'raw'>): CertificateLimits {
  try {
    return readLimits(raw);
  } catch (thrown) {
    if (thrown instanceof CertificateLimitsError) throw thrown;
    throw new CertificateLimitsError('cannot parse the certificate', { cause: thrown });
  }
}

function readLimits(raw: Buffer): CertificateLimits {
  const extensions = extensionsOf(raw);
  const read = <T>(oid: string, reader: (value: Buffer) => T): T | undefined => {
    const found = extensions.get(oid);
    return found === undefined ? undefined : reader(found.value);
  };
  const { isCa, pathLength } = read(BASIC_CONSTRAINTS, basicConstraints) ?? {};
  const names = read(ALTERNATIVE_NAMES, (value) => namesIn(childrenOf(fromDer(value)))) ?? [];
  const known = names.filter((name) => name !== undefined);
  const handled = new Set([...UNDERSTOOD, KEY_USAGE, BASIC_CONSTRAINTS, NAME_CONSTRAINTS, EXTENDED_USAGE]);
  // Names of other types are not evaluated.
  if (known.length > 0) handled.add(ALTERNATIVE_NAMES);
  for (const [oid, { critical }] of extensions) {
    if (critical && !handled.has(oid))
      throw new CertificateLimitsError(`the certificate has the unknown critical extension ${oid}`);
  }
  return {
    isCa,
    pathLength,
    mayCertify: read(KEY_USAGE, keyUsage),
    usages: read(EXTENDED_USAGE, (value) => childrenOf(fromDer(value)).map(oidOf)),
    constraints: read(NAME_CONSTRAINTS, nameConstraints),
    names: known,
  };
}
