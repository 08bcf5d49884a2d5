/** Administrator's client of the running server, with the platconfig in its data directory. */

import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { parseJsonText } from '#api/codec/json-text.ts';
import { messageOf } from '#api/kit/error-chain.ts';
import { isMutableObject } from '#api/kit/object.ts';
import { VOCABULARIES, type Vocabulary } from '#api/vocabulary.ts';
import { type Members } from '../resources/view.ts';

/** A failed command; the message names the problem and the fix. */
export class CommandError extends Error {
  override readonly name = 'CommandError';
}

export interface AdminClient extends AsyncDisposable {
  readonly vocabulary: Vocabulary;
  /** Returns the object in the response; `undefined` on 404.
   *  @throws CommandError with the server's message if it rejects the request */
  call(method: 'GET' | 'POST' | 'PUT' | 'DELETE', path: string, body?: object): Promise<Members | undefined>;
}

interface Access {
  readonly url: string;
  readonly ca: string;
  readonly cert: string;
  readonly key: string;
}

/** Returns the member of a value at a path; list items by index. */
export function memberAt(value: unknown, ...path: readonly (string | number)[]): unknown {
  return path.reduce<unknown>((found, step) => {
    if (Array.isArray(found))
      return typeof step === 'number' ? (found as readonly unknown[])[step] : undefined;
    return isMutableObject(found) && Object.hasOwn(found, step) ? found[step] : undefined;
  }, value);
}

export const textAt = (value: unknown, ...path: readonly (string | number)[]): string => {
  const found = memberAt(value, ...path);
  return typeof found === 'string' ? found : '';
};

const decode64 = (text: string): string => Buffer.from(text, 'base64').toString();

async function readAccess(dataDir: string): Promise<Access> {
  const file = join(dataDir, 'admin.platconfig');
  const text = await readFile(file, 'utf8').catch((cause: unknown) => {
    throw new CommandError(
      `${file} cannot be read: ${messageOf(cause)}; is the server running with --data-dir ${dataDir}?`,
      { cause },
    );
  });
  let config: unknown;
  try {
    config = JSON.parse(text);
  } catch (cause) {
    throw new CommandError(`${file} is not in the format that the server writes`, { cause });
  }
  return {
    url: textAt(config, 'clusters', 0, 'cluster', 'server'),
    ca: decode64(textAt(config, 'clusters', 0, 'cluster', 'certificate-authority-data')),
    cert: decode64(textAt(config, 'users', 0, 'user', 'client-certificate-data')),
    key: decode64(textAt(config, 'users', 0, 'user', 'client-key-data')),
  };
}

/** Detects the vocabulary of a server from its groups. */
function vocabularyIn(groups: unknown): Vocabulary {
  const list = memberAt(groups, 'groups');
  const names = (Array.isArray(list) ? list : []).map((group: unknown) => textAt(group, 'name'));
  const own = `certificates.${VOCABULARIES.kubernetes.apiGroupDomain}`;
  return names.includes(own) ? VOCABULARIES.kubernetes : VOCABULARIES.plat;
}

const TIMEOUT_MS = 30_000;

/** @throws CommandError if the server is not running, or cannot be authenticated with */
export async function connectAsAdmin(dataDir: string): Promise<AdminClient> {
  const { url, ...tls } = await readAccess(dataDir);
  const { Agent, request } = await import('undici');
  const dispatcher = new Agent({ connect: tls });

  async function call(
    method: 'GET' | 'POST' | 'PUT' | 'DELETE',
    path: string,
    body?: object,
  ): Promise<Members | undefined> {
    const response = await request(url + path, {
      method,
      dispatcher,
      signal: AbortSignal.timeout(TIMEOUT_MS),
      headers: { accept: 'application/json', 'content-type': 'application/json' },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    }).catch((cause: unknown) => {
      throw new CommandError(`the server at ${url} does not respond: ${messageOf(cause)}`, { cause });
    });
    const value = parseJsonText(await response.body.text());
    if (response.statusCode === 404 && method === 'GET') return undefined;
    if (response.statusCode >= 300 || !isMutableObject(value))
      throw new CommandError(textAt(value, 'message'));
    return value;
  }

  try {
    const vocabulary = vocabularyIn(await call('GET', '/apis'));
    return { vocabulary, call, [Symbol.asyncDispose]: () => dispatcher.close() };
  } catch (error) {
    await dispatcher.close();
    throw error;
  }
}
