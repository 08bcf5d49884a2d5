/** Signed JSON Web Tokens with ES256 or RS256. The key determines the algorithm; the token's header is
 *  compared with it and never followed. Source: RFC 7515, 7518 and 7519. */

import { createHash, createPublicKey, type KeyObject, sign, verify } from 'node:crypto';
import { parseJsonText } from '#api/codec/json-text.ts';
import { isObject } from '#api/kit/object.ts';

/** Malformed token, or key material of an unsupported type. */
export class JwtError extends Error {
  override readonly name = 'JwtError';
}

type Algorithm = 'ES256' | 'RS256';

export interface TokenKey {
  readonly id: string;
  readonly algorithm: Algorithm;
  readonly publicKey: KeyObject;
}

export interface ReadToken {
  readonly claims: Readonly<Record<string, unknown>>;
  /** Whether one of the keys signed it. */
  readonly verify: (keys: readonly TokenKey[]) => boolean;
}

/** Longer texts are not looked at. */
const MAX_LENGTH = 16 * 1024;
const PART = /^[A-Za-z0-9_-]+$/;

/** The public half of a key, with what names it: the digest of its DER form, as upstream's keys are named.
 *  @throws JwtError for a key that is neither RSA of 2048 bits or more nor P-256 */
export function tokenKey(key: KeyObject): TokenKey {
  const publicKey = key.type === 'private' ? createPublicKey(key) : key;
  const der = publicKey.export({ type: 'spki', format: 'der' });
  const id = createHash('sha256').update(der).digest('base64url');
  return { id, algorithm: algorithmOf(publicKey), publicKey };
}

function algorithmOf({ asymmetricKeyType, asymmetricKeyDetails }: KeyObject): Algorithm {
  if (asymmetricKeyType === 'ec' && asymmetricKeyDetails?.namedCurve === 'prime256v1') return 'ES256';
  if (asymmetricKeyType === 'rsa' && (asymmetricKeyDetails?.modulusLength ?? 0) >= 2048) return 'RS256';
  throw new JwtError(
    `a key of type ${asymmetricKeyType ?? 'secret'} cannot sign tokens; supported are RSA with at least 2048 bits and ECDSA P-256`,
  );
}

const encode = (value: object): string => Buffer.from(JSON.stringify(value)).toString('base64url');

/** A token with these claims. */
export function signToken(claims: object, privateKey: KeyObject, { id, algorithm }: TokenKey): string {
  const text = `${encode({ alg: algorithm, kid: id })}.${encode(claims)}`;
  const signature = sign('sha256', Buffer.from(text), { key: privateKey, dsaEncoding: 'ieee-p1363' });
  return `${text}.${signature.toString('base64url')}`;
}

/** Parses a token without verifying it; `undefined` if it is malformed. Call `verify` before use. */
export function readToken(text: string): ReadToken | undefined {
  if (text.length > MAX_LENGTH) return undefined;
  const parts = text.split('.');
  const [head = '', body = '', signature = ''] = parts;
  if (parts.length !== 3 || ![head, body, signature].every((part) => PART.test(part))) return undefined;
  const header = parsePart(head);
  const claims = parsePart(body);
  if (header === undefined || claims === undefined) return undefined;
  const signed = Buffer.from(`${head}.${body}`);
  const bytes = Buffer.from(signature, 'base64url');
  const { alg, kid } = header;
  return {
    claims,
    verify: (keys) =>
      keys.some(
        ({ id, algorithm, publicKey }) =>
          alg === algorithm &&
          (kid === undefined || kid === id) &&
          verify('sha256', signed, { key: publicKey, dsaEncoding: 'ieee-p1363' }, bytes),
      ),
  };
}

function parsePart(part: string): Readonly<Record<string, unknown>> | undefined {
  try {
    const value: unknown = parseJsonText(Buffer.from(part, 'base64url').toString('utf8'));
    return isObject(value) ? value : undefined;
  } catch {
    return undefined;
  }
}
