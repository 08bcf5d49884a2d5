/** Certificate requests (PKCS #10): parsing, and proof that the requestor has the private key. Source: RFC
 *  2986; RFC 7468. */
import { createPublicKey, type KeyObject, verify } from 'node:crypto';

/** Malformed request, or one whose signature does not match its key. */
export class CertificateRequestError extends Error {
  override readonly name = 'CertificateRequestError';
  readonly reason = 'InvalidCertificateRequest';
}

// Each is a line of its own.
const BEGIN = /^-----BEGIN CERTIFICATE REQUEST-----$/m;
const END = /^-----END CERTIFICATE REQUEST-----$/m;

const SEQUENCE = 0x30;
const OBJECT_IDENTIFIER = 0x06;
const BIT_STRING = 0x03;
const INTEGER = 0x02;
const ATTRIBUTES = 0xa0;

export interface DerValue {
  readonly tag: number;
  /** The value with its tag and length. */
  readonly whole: Buffer;
  readonly content: Buffer;
}

/** Returns the consecutive values. Lengths must be definite and minimal. */
export function readValues(bytes: Buffer): readonly DerValue[] {
  const values: DerValue[] = [];
  for (let offset = 0; offset < bytes.length; ) {
    const { start, length } = readLength(bytes, offset + 1);
    const end = start + length;
    const tag = bytes[offset];
    if (tag === undefined || end > bytes.length)
      throw new CertificateRequestError('the DER structure is truncated');
    values.push({ tag, whole: bytes.subarray(offset, end), content: bytes.subarray(start, end) });
    offset = end;
  }
  return values;
}

function readLength(bytes: Buffer, offset: number): { readonly start: number; readonly length: number } {
  const first = bytes[offset];
  if (first === undefined) throw new CertificateRequestError('the DER structure is truncated');
  if (first < 0x80) return { start: offset + 1, length: first };
  const count = first & 0x7f;
  if (count < 1 || count > 4 || offset + count >= bytes.length) {
    throw new CertificateRequestError('the DER structure has an invalid length');
  }
  return { start: offset + 1 + count, length: bytes.readUIntBE(offset + 1, count) };
}

function expectTag(value: DerValue | undefined, tag: number, what: string): DerValue {
  if (value?.tag !== tag) throw new CertificateRequestError(`the request lacks the ${what}`);
  return value;
}

/** Digests by the signature algorithm's identifier in hexadecimal; Ed25519 has none of its own. */
const DIGESTS: ReadonlyMap<string, string | null> = new Map([
  ['2a864886f70d01010b', 'sha256'],
  ['2a864886f70d01010c', 'sha384'],
  ['2a864886f70d01010d', 'sha512'],
  ['2a8648ce3d040302', 'sha256'],
  ['2a8648ce3d040303', 'sha384'],
  ['2a8648ce3d040304', 'sha512'],
  ['2b6570', null],
]);

function readKey(der: Buffer): KeyObject {
  try {
    return createPublicKey({ key: der, format: 'der', type: 'spki' });
  } catch (error) {
    throw new CertificateRequestError('the public key of the request is not supported', { cause: error });
  }
}

function isSigned(digest: string | null, signed: Buffer, key: KeyObject, signature: Buffer): boolean {
  try {
    return verify(digest, signed, key, signature);
  } catch (error) {
    throw new CertificateRequestError('the signature algorithm does not match the public key', {
      cause: error,
    });
  }
}

export interface CertificateRequest {
  readonly publicKey: KeyObject;
  /** DER of the subject's name. */
  readonly subject: Buffer;
  /** DER of the attributes, one after the other. */
  readonly attributes: Buffer;
}

/** Reads a request in PEM form and checks its signature.
 *  @throws CertificateRequestError */
export function parseCertificateRequest(pem: string): CertificateRequest {
  const begin = BEGIN.exec(pem);
  const rest = begin === null ? '' : pem.slice(begin.index + begin[0].length);
  const end = END.exec(rest);
  if (end === null) {
    throw new CertificateRequestError('PEM block type must be CERTIFICATE REQUEST');
  }
  const [request, ...others] = readValues(Buffer.from(rest.slice(0, end.index), 'base64'));
  if (others.length > 0) throw new CertificateRequestError('the request is followed by trailing data');
  const [info, algorithm, signature] = readValues(expectTag(request, SEQUENCE, 'structure').content);
  const signed = expectTag(info, SEQUENCE, 'information');
  const [version, subject, publicKey, attributes] = readValues(signed.content);
  expectTag(version, INTEGER, 'version');
  const [identifier] = readValues(expectTag(algorithm, SEQUENCE, 'signature algorithm').content);
  const oid = expectTag(identifier, OBJECT_IDENTIFIER, 'signature algorithm').content.toString('hex');
  const digest = DIGESTS.get(oid);
  if (digest === undefined) throw new CertificateRequestError('the signature algorithm is not supported');
  const key = readKey(expectTag(publicKey, SEQUENCE, 'public key').whole);
  // The first byte of a bit string is the number of unused bits in the last one.
  const bits = expectTag(signature, BIT_STRING, 'signature').content;
  if (bits[0] !== 0) throw new CertificateRequestError('the signature is not a whole number of bytes');
  if (!isSigned(digest, signed.whole, key, bits.subarray(1))) {
    throw new CertificateRequestError('the signature does not verify with the public key of the request');
  }
  return {
    publicKey: key,
    subject: expectTag(subject, SEQUENCE, 'subject').whole,
    attributes: attributes?.tag === ATTRIBUTES ? attributes.content : Buffer.alloc(0),
  };
}
