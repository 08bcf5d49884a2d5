/** Signed JSON Web Tokens. Reads them without trust, and verifies and signs them with keys of this server. A key
 *  determines its algorithm; the token's header is compared with it and never followed. Source: RFC 7515,
 *  7518 and 7519. */

import { createHash, createPublicKey, type KeyObject } from 'node:crypto';
import { CompactSign, compactVerify, errors } from 'jose';
import { parseJsonText } from '#api/codec/json-text.ts';
import { isObject } from '#api/kit/object.ts';

/** Key material of an unsupported type. */
export class JwtError extends Error {
  override readonly name = 'JwtError';
}

type Algorithm = 'ES256' | 'ES384' | 'ES512' | 'RS256';

export interface TokenKey {
  readonly id: string;
  readonly algorithm: Algorithm;
  readonly publicKey: KeyObject;
}

/** A well-formed token whose signature nobody has verified. */
export interface UnverifiedToken {
  readonly text: string;
  readonly header: Claims;
  readonly claims: Claims;
}

export type Claims = Readonly<Record<string, unknown>>;

/** Longer tokens are rejected unread. */
const MAX_LENGTH = 16 * 1024;
const PART = /^[A-Za-z0-9_-]+$/;

const CURVES: Readonly<Record<string, Algorithm>> = {
  prime256v1: 'ES256',
  secp384r1: 'ES384',
  secp521r1: 'ES512',
};

/** Returns the public half of a key. Its ID is the digest of its DER form, as upstream names keys.
 *  @throws JwtError for a key that is neither RSA of at least 2048 bits nor ECDSA on a NIST curve */
export function tokenKey(key: KeyObject): TokenKey {
  const publicKey = key.type === 'private' ? createPublicKey(key) : key;
  const der = publicKey.export({ type: 'spki', format: 'der' });
  const id = createHash('sha256').update(der).digest('base64url');
  return { id, algorithm: algorithmOf(publicKey), publicKey };
}

function algorithmOf({ asymmetricKeyType, asymmetricKeyDetails }: KeyObject): Algorithm {
  const { namedCurve = '', modulusLength = 0 } = asymmetricKeyDetails ?? {};
  const algorithm = asymmetricKeyType === 'ec' ? CURVES[namedCurve] : undefined;
  if (algorithm !== undefined) return algorithm;
  if (asymmetricKeyType === 'rsa' && modulusLength >= 2048) return 'RS256';
  throw new JwtError(
    `a key of type ${asymmetricKeyType ?? 'secret'} cannot sign tokens; supported are RSA with at least 2048 bits and ECDSA on P-256, P-384 and P-521`,
  );
}

/** Returns a signed token with these claims. */
export function signToken(claims: object, privateKey: KeyObject, key: TokenKey): Promise<string> {
  return new CompactSign(Buffer.from(JSON.stringify(claims)))
    .setProtectedHeader({ alg: key.algorithm, kid: key.id })
    .sign(privateKey);
}

/** Parses a token; `undefined` if it is malformed. */
export function readToken(text: string): UnverifiedToken | undefined {
  if (text.length > MAX_LENGTH) return undefined;
  const parts = text.split('.');
  if (parts.length !== 3 || !parts.every((part) => PART.test(part))) return undefined;
  const [header, claims] = parts.slice(0, 2).map(parsePart);
  return header === undefined || claims === undefined ? undefined : { text, header, claims };
}

function parsePart(part: string): Claims | undefined {
  try {
    const value: unknown = parseJsonText(Buffer.from(part, 'base64url').toString('utf8'));
    return isObject(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

/** Reports whether one of the keys signed the token. Verifies one signature for each key that fits its header. */
export async function isSignedBy(token: UnverifiedToken, keys: readonly TokenKey[]): Promise<boolean> {
  const { alg, kid } = token.header;
  for (const { id, algorithm, publicKey } of keys) {
    const fits = alg === algorithm && (kid === undefined || kid === id);
    if (fits && (await verifies(token, publicKey, algorithm))) return true;
  }
  return false;
}

async function verifies({ text }: UnverifiedToken, key: KeyObject, algorithm: Algorithm): Promise<boolean> {
  try {
    await compactVerify(text, key, { algorithms: [algorithm] });
    return true;
  } catch (thrown) {
    if (thrown instanceof errors.JOSEError) return false;
    throw thrown;
  }
}
