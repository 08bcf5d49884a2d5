/** Continue token of a list: the revision of the list and the key to continue after. Opaque to clients.
 *  Source: paging, document 1 §4.4; format and messages as in upstream. */
import { parseJsonText } from '#api/codec/json-text.ts';
import { badRequest } from './list-errors.ts';

export interface ContinueToken {
  /** The list's revision; absent: the newest, for a list whose state has expired. */
  readonly revision?: number;
  /** The last key of the previous page. */
  readonly after: string;
}

/** Keys are far shorter: a namespace and a name of 253 bytes at most, each perhaps escaped. */
const LONGEST = 4096;
const URL_SAFE = /^[A-Za-z0-9_-]+$/;
/** Represents the newest state; not 0, which means a token without a revision. */
const NEWEST = -1;

export function encodeContinue({ revision = NEWEST, after }: ContinueToken, apiGroupDomain: string): string {
  const text = JSON.stringify({ v: versionOf(apiGroupDomain), rv: revision, start: after });
  return Buffer.from(text).toString('base64url');
}

function versionOf(apiGroupDomain: string): string {
  return `meta.${apiGroupDomain}/v1`;
}

function parseToken(token: string): Readonly<Record<string, unknown>> {
  if (token.length > LONGEST || !URL_SAFE.test(token)) throw invalidToken('illegal base64 data');
  try {
    const value: unknown = parseJsonText(Buffer.from(token, 'base64url').toString());
    return Object.fromEntries(Object.entries(value ?? {}));
  } catch {
    throw invalidToken('invalid JSON');
  }
}

/** @throws StatusError BadRequest */
export function decodeContinue(token: string, apiGroupDomain: string): ContinueToken {
  const { v, rv, start } = parseToken(token);
  const version = versionOf(apiGroupDomain);
  if (v !== version)
    throw invalidToken(`server does not recognize this encoded version ${JSON.stringify(v)}`);
  if (typeof rv !== 'number' || !Number.isSafeInteger(rv) || rv === 0 || rv < NEWEST) {
    throw invalidToken(`incorrect encoded start resourceVersion (version ${version})`);
  }
  if (typeof start !== 'string' || start === '') {
    throw invalidToken(`encoded start key empty (version ${version})`);
  }
  return rv === NEWEST ? { after: start } : { revision: rv, after: start };
}

function invalidToken(why: string): Error {
  return badRequest(`invalid continue token: continue key is not valid: ${why}`);
}
