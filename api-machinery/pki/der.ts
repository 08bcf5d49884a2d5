/** DER values of X.509 structures. Structures by node-forge, keys and signatures by node:crypto. Pure.
 *  Source: X.690; RFC 5280. */
import forge from 'node-forge';

export type Asn1 = forge.asn1.Asn1;

const { asn1 } = forge;
const { Class, Type } = asn1;

/** Returns bytes as text, as node-forge represents them. */
const binary = (bytes: Uint8Array): string => Buffer.from(bytes).toString('latin1');

export const sequence = (...items: readonly Asn1[]): Asn1 =>
  asn1.create(Class.UNIVERSAL, Type.SEQUENCE, true, [...items]);

export const set = (...items: readonly Asn1[]): Asn1 =>
  asn1.create(Class.UNIVERSAL, Type.SET, true, [...items]);

export const oid = (dotted: string): Asn1 =>
  asn1.create(Class.UNIVERSAL, Type.OID, false, asn1.oidToDer(dotted).getBytes());

export const utf8 = (text: string): Asn1 =>
  asn1.create(Class.UNIVERSAL, Type.UTF8, false, forge.util.encodeUtf8(text));

export const integer = (value: number): Asn1 =>
  asn1.create(Class.UNIVERSAL, Type.INTEGER, false, asn1.integerToDer(value).getBytes());

/** Encodes a positive integer from big-endian bytes. */
export function bigInteger(bytes: Uint8Array): Asn1 {
  const padded = (bytes[0] ?? 0) >= 0x80 ? Buffer.concat([Buffer.from([0]), bytes]) : bytes;
  return asn1.create(Class.UNIVERSAL, Type.INTEGER, false, binary(padded));
}

export const boolean = (value: boolean): Asn1 =>
  asn1.create(Class.UNIVERSAL, Type.BOOLEAN, false, value ? '\u00ff' : '\u0000');

export const nothing = (): Asn1 => asn1.create(Class.UNIVERSAL, Type.NULL, false, '');

export const octets = (bytes: Uint8Array): Asn1 =>
  asn1.create(Class.UNIVERSAL, Type.OCTETSTRING, false, binary(bytes));

/** Encodes a bit string of whole bytes, or with unused bits at the end. */
export const bits = (bytes: Uint8Array, unused = 0): Asn1 =>
  asn1.create(Class.UNIVERSAL, Type.BITSTRING, false, String.fromCharCode(unused) + binary(bytes));

/** Explicitly tagged. */
export const tagged = (tag: number, ...items: readonly Asn1[]): Asn1 =>
  // oxlint-disable-next-line typescript/no-unsafe-enum-assignment -- tags of one's own class are plain numbers
  asn1.create(Class.CONTEXT_SPECIFIC, tag, true, [...items]);

/** Implicitly tagged, of plain bytes. */
export const taggedBytes = (tag: number, bytes: Uint8Array): Asn1 =>
  // oxlint-disable-next-line typescript/no-unsafe-enum-assignment -- tags of one's own class are plain numbers
  asn1.create(Class.CONTEXT_SPECIFIC, tag, false, binary(bytes));

/** Years up to 2049 have two digits, later ones four. */
export function time(at: Date): Asn1 {
  return at.getUTCFullYear() < 2050
    ? asn1.create(Class.UNIVERSAL, Type.UTCTIME, false, asn1.dateToUtcTime(at))
    : asn1.create(Class.UNIVERSAL, Type.GENERALIZEDTIME, false, asn1.dateToGeneralizedTime(at));
}

export const toDer = (value: Asn1): Buffer => Buffer.from(asn1.toDer(value).getBytes(), 'latin1');

/** @throws Error if the bytes are not DER */
export const fromDer = (bytes: Uint8Array): Asn1 => asn1.fromDer(binary(bytes));

/** Returns the parts of a constructed value. @throws Error if it is a primitive one */
export function childrenOf({ value }: Asn1): readonly Asn1[] {
  if (typeof value === 'string') throw new Error('the DER value has no parts');
  return value;
}
