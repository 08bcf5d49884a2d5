/** Process of the services that verify logins: a token webhook that denies every token, and the discovery documents of an
 *  OpenID Connect provider. Started by `failed-logins.ts`. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { createServer } from 'node:https';
import { json } from 'node:stream/consumers';
import type { ToServices } from './messages.ts';

/** Returns the review with a denial, in the version in which it came. */
const denialOf = (review: unknown): object => ({
  ...(typeof review === 'object' ? review : {}),
  status: { authenticated: false },
});

process.on('message', ({ port, cert, key, issuer, jwks }: ToServices) => {
  const documents: Readonly<Record<string, object>> = {
    '/.well-known/openid-configuration': {
      issuer,
      jwks_uri: `${issuer}/jwks`,
      response_types_supported: ['id_token'],
      subject_types_supported: ['public'],
      id_token_signing_alg_values_supported: ['ES256'],
    },
    '/jwks': jwks,
  };
  const respond = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const body = documents[request.url ?? ''] ?? denialOf(await json(request));
    response.setHeader('Content-Type', 'application/json');
    response.end(JSON.stringify(body));
  };
  const server = createServer({ cert, key }, (request, response) => void respond(request, response));
  server.listen(port, '127.0.0.1', () => void process.send?.('listening'));
});
// The parent process has exited.
process.on('disconnect', () => process.exit(0));
