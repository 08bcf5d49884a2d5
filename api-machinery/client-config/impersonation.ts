/** Impersonation headers. Pure. Source: impersonation, document 2 §5.7. */
import type { Impersonation } from './model.ts';

const TOKEN_CHARACTER = /^[A-Za-z0-9!#$&'*+.^_`|~-]$/;

/** Encodes a name as part of a header's name: every byte that is not allowed there, and the percent sign. */
function encodeName(name: string): string {
  return [...Buffer.from(name)]
    .map((byte) => {
      const character = String.fromCharCode(byte);
      return TOKEN_CHARACTER.test(character)
        ? character
        : `%${byte.toString(16).toUpperCase().padStart(2, '0')}`;
    })
    .join('');
}

/** Header values are bytes on the wire: text beyond ASCII is sent as UTF-8. */
const headerValue = (text: string): string => Buffer.from(text).toString('latin1');

/** Returns pairs of header name and value. */
export function impersonationHeaders(
  impersonate: Impersonation,
): Readonly<Record<string, readonly string[]>> {
  const { user, uid, groups, extra } = impersonate;
  const headers: Record<string, readonly string[]> = { 'impersonate-user': [headerValue(user)] };
  if (uid !== '') headers['impersonate-uid'] = [headerValue(uid)];
  if (groups.length > 0) headers['impersonate-group'] = groups.map(headerValue);
  for (const [name, values] of Object.entries(extra)) {
    if (values.length > 0) headers[`impersonate-extra-${encodeName(name)}`] = values.map(headerValue);
  }
  return headers;
}
