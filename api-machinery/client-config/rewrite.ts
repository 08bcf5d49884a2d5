/** Update of renewed tokens in the text of a client configuration; everything else, including comments, is
 *  preserved. Pure. */

import { isSeq, parseDocument } from 'yaml';
import { parseJsonText } from '../codec/json-text.ts';
import { isObject } from '../kit/object.ts';
import type { OidcTokens } from './oidc-token.ts';
import { parseClientConfig } from './parse.ts';

/** Returns the index of the user's entry with an auth provider. */
function indexOfUser(text: string, userName: string): number {
  const parsed = parseClientConfig(text, '');
  if (parsed.kind === 'invalid') return -1;
  return parsed.config.users.findIndex(
    ({ name, entry }) => name === userName && entry.authProvider !== undefined,
  );
}

function rewriteJson(value: unknown, index: number, tokens: OidcTokens): string | undefined {
  const config = isObject(value) ? value : {};
  const users: readonly unknown[] = Array.isArray(config['users']) ? config['users'] : [];
  const rewritten = users.map((item, at) => {
    if (at !== index || !isObject(item) || !isObject(item['user'])) return item;
    const provider = item['user']['auth-provider'];
    if (!isObject(provider) || !isObject(provider['config'])) return item;
    const next = { ...provider['config'], 'id-token': tokens.idToken, 'refresh-token': tokens.refreshToken };
    return { ...item, user: { ...item['user'], 'auth-provider': { ...provider, config: next } } };
  });
  return `${JSON.stringify({ ...config, users: rewritten }, undefined, 2)}\n`;
}

/** Returns the text with the tokens; undefined if the user no longer exists, or the text is unreadable. */
export function rewriteOidcTokens(text: string, userName: string, tokens: OidcTokens): string | undefined {
  const index = indexOfUser(text, userName);
  if (index < 0) return undefined;
  if (/^\s*\{/.test(text)) {
    try {
      return rewriteJson(parseJsonText(text), index, tokens);
    } catch {
      // Flow-style YAML also begins with braces.
    }
  }
  const document = parseDocument(text);
  if (document.errors.length > 0 || !isSeq(document.get('users'))) return undefined;
  const config = ['users', index, 'user', 'auth-provider', 'config'];
  document.setIn([...config, 'id-token'], tokens.idToken);
  document.setIn([...config, 'refresh-token'], tokens.refreshToken);
  return document.toString({ lineWidth: 0, indentSeq: !/^users:[^\n]*\n-/m.test(text) });
}
