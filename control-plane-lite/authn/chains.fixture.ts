/** Certificate chains that differ in one property, for tests: the contents of each certificate are encoded by
 *  hand, so that they may be invalid. */
import { createPublicKey, type KeyObject, randomBytes, sign, X509Certificate } from 'node:crypto';
import { addressBytes, createKey, formatName, signatureAlgorithm } from '#api/pki/certificate.ts';
import * as der from '#api/pki/der.ts';
import { formatPem } from '#api/pki/pem.ts';

type Usage = 'clientAuth' | 'serverAuth' | 'any';
type Name = readonly ['dns' | 'email' | 'ip' | 'uri' | 'directory', string];

/** Content of a certificate. */
export interface Says {
  /** `undefined`: no basic constraints. */
  readonly ca?: boolean | undefined;
  readonly pathLength?: number;
  readonly keyUsage?: 'certSign' | 'digitalSignature';
  readonly usages?: readonly Usage[];
  readonly permitted?: readonly Name[];
  readonly excluded?: readonly Name[];
  readonly names?: readonly Name[];
  /** An unknown extension. */
  readonly strange?: 'critical' | 'not critical';
  readonly time?: 'past' | 'future';
}

export interface Chain {
  readonly what: string;
  /** From the root to the end. */
  readonly says: readonly Says[];
  readonly good: boolean;
  /** Reason for a different result of OpenSSL. */
  readonly except?: string;
}

const OIDS: Readonly<Record<Usage, string>> = {
  clientAuth: '1.3.6.1.5.5.7.3.2',
  serverAuth: '1.3.6.1.5.5.7.3.1',
  any: '2.5.29.37.0',
};
const TAGS = { email: 1, dns: 2, directory: 4, uri: 6, ip: 7 } as const;

function generalName([kind, value]: Name): der.Asn1 {
  if (kind === 'directory')
    return der.tagged(TAGS.directory, formatName({ commonName: '', organizations: [value] }));
  const bytes =
    kind === 'ip' ? Buffer.concat(value.split('/').map(addressBytes)) : Buffer.from(value, 'ascii');
  return der.taggedBytes(TAGS[kind], bytes);
}

function extension(oid: string, critical: boolean, value: der.Asn1): der.Asn1 {
  const body = der.octets(der.toDer(value));
  return critical ? der.sequence(der.oid(oid), der.boolean(true), body) : der.sequence(der.oid(oid), body);
}

function extensionsOf(says: Says): readonly der.Asn1[] {
  const { ca, pathLength, keyUsage, usages, permitted = [], excluded = [], names = [], strange } = says;
  const subtrees = (tag: number, list: readonly Name[]): readonly der.Asn1[] =>
    list.length === 0 ? [] : [der.tagged(tag, ...list.map((name) => der.sequence(generalName(name))))];
  const isConstrained = permitted.length + excluded.length > 0;
  return [
    ...(ca === undefined
      ? []
      : [
          extension(
            '2.5.29.19',
            true,
            der.sequence(
              ...(ca ? [der.boolean(true)] : []),
              ...(pathLength === undefined ? [] : [der.integer(pathLength)]),
            ),
          ),
        ]),
    ...(keyUsage === undefined
      ? []
      : [
          extension(
            '2.5.29.15',
            true,
            keyUsage === 'certSign' ? der.bits(Buffer.from([0x04]), 2) : der.bits(Buffer.from([0x80]), 7),
          ),
        ]),
    ...(usages === undefined
      ? []
      : [extension('2.5.29.37', false, der.sequence(...usages.map((usage) => der.oid(OIDS[usage]))))]),
    ...(isConstrained
      ? [extension('2.5.29.30', true, der.sequence(...subtrees(0, permitted), ...subtrees(1, excluded)))]
      : []),
    ...(names.length === 0 ? [] : [extension('2.5.29.17', false, der.sequence(...names.map(generalName)))]),
    ...(strange === undefined ? [] : [extension('1.2.3.4.5', strange === 'critical', der.nothing())]),
  ];
}

const DAY_MS = 86_400_000;

function makeCertificate(
  subject: der.Asn1,
  key: KeyObject,
  issuer: { readonly name: der.Asn1; readonly key: KeyObject },
  says: Says,
  nowMs: number,
): string {
  const shift = says.time === 'past' ? -3 : says.time === 'future' ? 3 : 0;
  const at = (days: number): der.Asn1 => der.time(new Date(nowMs + (days + shift) * DAY_MS));
  const serial = randomBytes(8);
  serial[0] = ((serial[0] ?? 0) & 0x7f) | 0x40;
  const extensions = extensionsOf(says);
  const algorithm = signatureAlgorithm(issuer.key);
  const body = der.sequence(
    der.tagged(0, der.integer(2)),
    der.bigInteger(serial),
    algorithm,
    issuer.name,
    der.sequence(at(-1), at(1)),
    subject,
    der.fromDer(createPublicKey(key).export({ type: 'spki', format: 'der' })),
    ...(extensions.length === 0 ? [] : [der.tagged(3, der.sequence(...extensions))]),
  );
  const signature = sign('sha256', der.toDer(body), issuer.key);
  return formatPem('CERTIFICATE', der.toDer(der.sequence(body, algorithm, der.bits(signature))));
}

const keys: KeyObject[] = [];
const keyAt = (index: number): KeyObject => (keys[index] ??= createKey());

/** From the root to the end, as PEM. */
export function certificatesOf({ says }: Pick<Chain, 'says'>, nowMs: number): readonly string[] {
  let issuer: { readonly name: der.Asn1; readonly key: KeyObject } | undefined;
  return says.map((each, index) => {
    const isEnd = index === says.length - 1;
    const name = formatName(
      isEnd
        ? { commonName: 'system:ann', organizations: ['system:masters'] }
        : { commonName: `authority ${index}`, organizations: ['authorities'] },
    );
    const key = keyAt(index);
    const text = makeCertificate(name, key, issuer ?? { name, key }, each, nowMs);
    issuer = { name, key };
    return text;
  });
}

export const parsed = (texts: readonly string[]): readonly X509Certificate[] =>
  texts.map((text) => new X509Certificate(text));

const CA: Says = { ca: true, keyUsage: 'certSign' };
const END: Says = { ca: false, keyUsage: 'digitalSignature', usages: ['clientAuth'] };

/** Certificate contents with their expected results. `below`: number of CAs between it and the leaf. */
interface Change {
  readonly what: string;
  readonly says: Says;
  readonly end?: Says;
  readonly good: boolean | ((below: number) => boolean);
  readonly except?: string;
  readonly exceptRoot?: string;
}

const AUTHORITY_CHANGES: readonly Change[] = [
  { what: 'nothing else', says: {}, good: true },
  { what: 'no key usage', says: { ca: true }, good: true },
  { what: 'that it is none', says: { ...CA, ca: false }, good: false },
  {
    what: 'no basic constraints',
    says: { keyUsage: 'certSign', ca: undefined },
    good: false,
    exceptRoot: 'it takes the key usage of a root for them',
  },
  { what: 'a key for signatures only', says: { ...CA, keyUsage: 'digitalSignature' }, good: false },
  ...[0, 1, 2].map((pathLength) => ({
    what: `a path length of ${pathLength}`,
    says: { ...CA, pathLength },
    good: (below: number) => below <= pathLength,
  })),
  { what: 'clients', says: { ...CA, usages: ['clientAuth'] }, good: true },
  { what: 'clients and servers', says: { ...CA, usages: ['serverAuth', 'clientAuth'] }, good: true },
  { what: 'servers', says: { ...CA, usages: ['serverAuth'] }, good: false },
  { what: 'any use', says: { ...CA, usages: ['any'] }, good: true, except: 'it wants each use by name' },
  { what: 'a strange critical extension', says: { ...CA, strange: 'critical' }, good: false },
  { what: 'a strange extension', says: { ...CA, strange: 'not critical' }, good: true },
  { what: 'a time that is over', says: { ...CA, time: 'past' }, good: false },
  { what: 'a time to come', says: { ...CA, time: 'future' }, good: false },
];

/** Constraints, a name of the end, and whether it may have it. */
const CONSTRAINED: readonly (readonly ['permitted' | 'excluded', Name, Name, boolean, string?])[] = [
  ['permitted', ['dns', 'example.com'], ['dns', 'example.com'], true],
  ['permitted', ['dns', 'example.com'], ['dns', 'a.EXAMPLE.com'], true],
  ['permitted', ['dns', 'example.com'], ['dns', 'badexample.com'], false],
  ['permitted', ['dns', 'example.com'], ['dns', 'com'], false],
  ['permitted', ['dns', 'example.com'], ['email', 'a@other.org'], true],
  ['permitted', ['dns', '.example.com'], ['dns', 'a.example.com'], true],
  ['excluded', ['dns', 'example.com'], ['dns', 'a.example.com'], false],
  ['excluded', ['dns', 'example.com'], ['dns', 'example.org'], true],
  ['permitted', ['ip', '10.0.0.0/255.0.0.0'], ['ip', '10.1.2.3'], true],
  ['permitted', ['ip', '10.0.0.0/255.0.0.0'], ['ip', '11.1.2.3'], false],
  ['permitted', ['ip', '10.0.0.0/255.0.0.0'], ['ip', 'fd00::1'], false],
  ['excluded', ['ip', '10.0.0.0/255.0.0.0'], ['ip', '10.1.2.3'], false],
  ['permitted', ['email', 'example.com'], ['email', 'ann@example.com'], true],
  ['permitted', ['email', 'example.com'], ['email', 'ann@example.org'], false],
  ['permitted', ['email', 'ann@example.com'], ['email', 'ann@example.com'], true],
  ['permitted', ['email', 'ann@example.com'], ['email', 'bob@example.com'], false],
  ['permitted', ['uri', 'example.com'], ['uri', 'https://example.com/x'], true],
  ['permitted', ['uri', '.example.com'], ['uri', 'https://a.example.com/x'], true],
  ['permitted', ['uri', 'example.com'], ['uri', 'https://example.org/x'], false],
  ['excluded', ['uri', 'example.com'], ['uri', 'https://example.com/x'], false],
  ['permitted', ['directory', 'system:masters'], ['dns', 'a.org'], false, 'it evaluates directory names'],
  ['excluded', ['directory', 'others'], ['dns', 'a.org'], false, 'it evaluates directory names'],
];

const CONSTRAINT_CHANGES: readonly Change[] = CONSTRAINED.map(([list, constraint, name, good, except]) => ({
  what: `${list} ${constraint.join(' ')} above ${name.join(' ')}`,
  says: { ...CA, [list]: [constraint] },
  end: { ...END, names: [name] },
  good,
  ...(except === undefined ? {} : { except }),
}));

const END_CHANGES: readonly Change[] = [
  { what: 'nothing at all', says: {}, good: true },
  { what: 'no extended use', says: { ca: false, keyUsage: 'digitalSignature' }, good: true },
  { what: 'clients and servers', says: { ...END, usages: ['serverAuth', 'clientAuth'] }, good: true },
  { what: 'servers', says: { ...END, usages: ['serverAuth'] }, good: false },
  { what: 'any use', says: { ...END, usages: ['any'] }, good: true, except: 'it wants each use by name' },
  { what: 'a strange critical extension', says: { ...END, strange: 'critical' }, good: false },
  { what: 'a strange extension', says: { ...END, strange: 'not critical' }, good: true },
  { what: 'a time that is over', says: { ...END, time: 'past' }, good: false },
  { what: 'a time to come', says: { ...END, time: 'future' }, good: false },
];

/** Chains of up to three CAs below the root, each with one change in one place. */
export function allChains(): readonly Chain[] {
  return [0, 1, 2, 3].flatMap((between) => {
    const authorities = Array.from({ length: between + 1 }, () => CA);
    const atAuthorities = authorities.flatMap((_, place) =>
      [...AUTHORITY_CHANGES, ...(between === 1 ? CONSTRAINT_CHANGES : [])].map(
        ({ what, says, end = END, good, except, exceptRoot }): Chain => ({
          what: `${between} between, ${place === 0 ? 'the root' : `CA ${place}`} says ${what}`,
          says: [
            ...authorities.with(place, { ...(says.ca === undefined && !('ca' in says) ? CA : {}), ...says }),
            end,
          ],
          good: typeof good === 'boolean' ? good : good(between - place),
          ...(except === undefined ? {} : { except }),
          ...(place > 0 || exceptRoot === undefined ? {} : { except: exceptRoot }),
        }),
      ),
    );
    const atEnd = END_CHANGES.map(
      ({ what, says, good, except }): Chain => ({
        what: `${between} between, the end says ${what}`,
        says: [...authorities, says],
        good: good === true,
        ...(except === undefined ? {} : { except }),
      }),
    );
    return [...atAuthorities, ...atEnd];
  });
}
