/** Parsers for the arguments of a join: token, CA hash and address. Pure.
 *  Source: bootstrap tokens, document 2 §5.9 (1). */
import { trimEnd } from '#api/kit/text/trim-end.ts';
import { JoinError } from './errors.ts';

export interface JoinToken {
  readonly id: string;
  readonly secret: string;
  /** Id and secret, with the dot. */
  readonly text: string;
}

const TOKEN = /^([a-z0-9]{6})\.([a-z0-9]{16})$/;
const HASH = /^sha256:([0-9a-f]{64})$/i;
const DEFAULT_PORT = '6443';

/** The text is secret and appears in no message. @throws JoinError BadToken */
export function parseJoinToken(text: string): JoinToken {
  const [, id, secret] = TOKEN.exec(text) ?? [];
  if (id === undefined || secret === undefined) {
    const right = 'six characters, a dot and sixteen characters of a-z and 0-9';
    throw new JoinError('BadToken', `--token: invalid format: must be ${right}`);
  }
  return { id, secret, text };
}

/** Returns the hash in lower case. @throws JoinError BadHash */
export function parseAuthorityHash(text: string): string {
  const [, digits] = HASH.exec(text) ?? [];
  if (digits !== undefined) return `sha256:${digits.toLowerCase()}`;
  const right = 'sha256: and 64 hexadecimal digits, as `control-plane-lite token create` prints it';
  throw new JoinError('BadHash', `--ca-cert-hash: invalid value ${JSON.stringify(text)}: must be ${right}`);
}

/** Returns `https://HOST:6443` for an address with or without scheme and port. @throws JoinError BadAddress */
export function parseServerAddress(text: string): string {
  const url = URL.parse(/^[a-z][a-z0-9+.-]*:\/\//i.test(text) ? text : `https://${text}`);
  const isPlain = url?.username === '' && url.password === '' && url.search === '' && url.hash === '';
  if (url?.protocol !== 'https:' || url.hostname === '' || !isPlain) {
    throw new JoinError(
      'BadAddress',
      `${JSON.stringify(text)} is not a server address: use https://HOST:PORT`,
    );
  }
  // URL omits the default port of the scheme, so 443 must be found in the text.
  const named = url.port !== '' || /:443(?:\/|$)/.test(text);
  const port = named ? url.port || '443' : DEFAULT_PORT;
  return `https://${url.hostname}:${port}${trimEnd(url.pathname, '/')}`;
}
