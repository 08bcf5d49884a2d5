/** JSON pointers (RFC 6901). Pure. */

/** An invalid pointer. */
export class PointerError extends Error {
  override readonly name = 'PointerError';
  readonly reason = 'InvalidPointer';
}

/** Parses `/a~1b/0` → `['a/b', '0']`; the empty text is the whole document.
 *  @throws PointerError */
export function parsePointer(text: string): readonly string[] {
  if (text === '') return [];
  if (!text.startsWith('/')) throw new PointerError(`pointer ${show(text)} must be empty or start with "/"`);
  return text.slice(1).split('/').map(unescapeToken);
}

function unescapeToken(token: string): string {
  if (!token.includes('~')) return token;
  if (/~(?![01])/.test(token))
    throw new PointerError(`pointer token ${show(token)} has a "~" without 0 or 1 after it`);
  return token.replaceAll('~1', '/').replaceAll('~0', '~');
}

const LONGEST_SHOWN = 100;
const show = (text: string): string => JSON.stringify(text.slice(0, LONGEST_SHOWN));

/** Formats `['a/b', '0']` → `/a~1b/0` */
export function formatPointer(tokens: readonly string[]): string {
  return tokens.map((token) => `/${token.replaceAll('~', '~0').replaceAll('/', '~1')}`).join('');
}

/** Returns an index in the notation of RFC 6901; `undefined` for any other token. */
export function parseIndex(token: string): number | undefined {
  return /^(?:0|[1-9]\d{0,9})$/.test(token) ? Number(token) : undefined;
}
