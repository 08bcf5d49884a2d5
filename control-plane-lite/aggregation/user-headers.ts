/** Request headers that identify the user to an aggregated server, which trusts them because of the client
 *  certificate. Pure. Source: request header authentication, document 2; upstream's names. */
import { StatusError } from '#api/meta/status-error.ts';
import type { UserInfo } from '../resources/contract.ts';

export const USER_HEADER = 'X-Remote-User';
export const GROUP_HEADER = 'X-Remote-Group';
export const EXTRA_PREFIX = 'X-Remote-Extra-';

/** Bytes allowed in a header name, except the percent sign, which escapes all others. */
const NAME_BYTE = /[!#$&'*+\-.^_`|~0-9A-Za-z]/;

/** Control characters, and leading or trailing spaces, which HTTP trims: the other server would see a different name. */
// oxlint-disable-next-line no-control-regex -- exactly these are meant
const UNFIT = /^\s|\s$|[\u0000-\u001f\u007f]/;

/** One character for each byte of UTF-8, as Node writes headers. */
function headerValue(text: string, what: string): string {
  if (UNFIT.test(text)) {
    throw new StatusError('Forbidden', `${what} of the user cannot be forwarded to the aggregated server`);
  }
  return Buffer.from(text, 'utf8').toString('latin1');
}

function headerName(key: string): string {
  let escaped = '';
  for (const byte of Buffer.from(key, 'utf8')) {
    const character = String.fromCharCode(byte);
    escaped += NAME_BYTE.test(character) ? character : `%${byte.toString(16).toUpperCase().padStart(2, '0')}`;
  }
  return EXTRA_PREFIX + escaped;
}

/** @throws StatusError Forbidden if an attribute of the user cannot be sent in a header unchanged */
export function userHeaders(user: UserInfo): Readonly<Record<string, readonly string[]>> {
  const headers: Record<string, readonly string[]> = {
    [USER_HEADER]: [headerValue(user.name, 'the name')],
  };
  if (user.groups.length > 0) {
    headers[GROUP_HEADER] = user.groups.map((group) => headerValue(group, 'a group'));
  }
  for (const [key, values] of Object.entries(user.extra)) {
    headers[headerName(key)] = values.map((value) => headerValue(value, 'extra information'));
  }
  return headers;
}
