/** Bearer tokens that browsers send as a WebSocket subprotocol. */
import { AuthenticationError } from './authentication-error.ts';

/** Maximum length of a token; more does not fit into a header. */
const BASE64URL = /^[A-Za-z0-9_-]+$/;

export interface SubprotocolToken {
  readonly token: string | undefined;
  /** The subprotocols that the client offers besides the token. */
  readonly protocols: readonly string[];
}

/** Splits the token from the offered subprotocols. Browsers cannot send `Authorization` with a WebSocket;
 *  they offer the token as a subprotocol, which is never selected. `domain` is that of the API groups.
 *  @throws AuthenticationError */
export function readSubprotocols(header: string | undefined, domain: string): SubprotocolToken {
  if (header === undefined) return { token: undefined, protocols: [] };
  const prefix = `base64url.bearer.authorization.${domain}.`;
  const offered = header
    .split(',')
    .map((text) => text.trim())
    .filter((text) => text !== '');
  const protocols = offered.filter((text) => !text.startsWith(prefix));
  const tokens = offered.filter((text) => text.startsWith(prefix)).map((text) => text.slice(prefix.length));
  const [encoded] = tokens;
  if (encoded === undefined) return { token: undefined, protocols };
  if (tokens.length > 1) throw new AuthenticationError('more than one subprotocol contains a token');
  if (!BASE64URL.test(encoded))
    throw new AuthenticationError('the token in the subprotocol is not base64url');
  if (protocols.length === 0)
    throw new AuthenticationError('a subprotocol besides that of the token is required');
  return { token: Buffer.from(encoded, 'base64url').toString('utf8'), protocols };
}
