/** Static tokens: a CSV file with a token, a user name, a UID and, quoted, the groups on each line.
 *  Source: upstream's static token file (`--token-auth-file`). */
import { createHash } from 'node:crypto';
import type { UserInfo } from '../resources/contract.ts';
import type { Authenticator } from './contract.ts';

/** An invalid line of the file. The error never contains the token itself. */
export class TokenFileError extends Error {
  override readonly name = 'TokenFileError';
  constructor(file: string, line: number, problem: string) {
    super(`${file}: line ${line}: ${problem}; expected token,user,uid,"group1,group2"`);
  }
}

/** Cells of one CSV line; `undefined` if a quote isn't closed. */
function cells(line: string): readonly string[] | undefined {
  const result: string[] = [];
  let rest = line;
  for (;;) {
    const quoted = /^\s*"((?:[^"]|"")*)"\s*(?:,|$)/.exec(rest);
    const match = quoted ?? /^([^",]*)(?:,|$)/.exec(rest);
    if (match === null) return undefined;
    result.push((match[1] ?? '').replaceAll('""', '"').trim());
    const more = match[0].endsWith(',');
    rest = rest.slice(match[0].length);
    if (!more) return result;
  }
}

/** Tokens are looked up by digest, so that the duration reveals nothing about them. */
const digest = (token: string): string => createHash('sha256').update(token).digest('base64');

/** The users of a token file by the digests of their tokens.
 *  @throws TokenFileError */
export function parseTokenFile(text: string, file: string): ReadonlyMap<string, UserInfo> {
  const users = new Map<string, UserInfo>();
  for (const [index, line] of text.split(/\r?\n/).entries()) {
    if (line.trim() === '' || line.startsWith('#')) continue;
    const row = cells(line);
    const fail = (problem: string): never => {
      throw new TokenFileError(file, index + 1, problem);
    };
    if (row === undefined) return fail('a quoted column is not terminated');
    const [token = '', name = '', uid = '', groups = ''] = row;
    if (row.length < 3) fail(`only ${row.length} columns`);
    if (token === '') fail('the token is empty');
    if (name === '') fail('the user name is empty');
    const key = digest(token);
    if (users.has(key)) fail('the token is already defined on an earlier line');
    const names = groups.split(',').map((group) => group.trim());
    users.set(key, {
      name,
      ...(uid === '' ? {} : { uid }),
      groups: names.filter((group) => group !== ''),
      extra: {},
    });
  }
  return users;
}

/** Reads `users` for each request, so that the file can be replaced. */
export function createTokenAuthenticator(users: () => ReadonlyMap<string, UserInfo>): Authenticator {
  return {
    name: 'token-file',
    authenticate({ bearerToken }) {
      if (bearerToken === undefined) return { kind: 'none' };
      const user = users().get(digest(bearerToken));
      return user === undefined ? { kind: 'none' } : { kind: 'user', user };
    },
  };
}
