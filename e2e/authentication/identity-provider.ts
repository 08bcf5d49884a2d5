/** OpenID Connect provider of the tests: a real one in a process of its own, and the flow by which a client gets ID
 *  tokens from it. */
import { generateKeyPairSync } from 'node:crypto';
import { Agent, request } from 'undici';
import type { Identity } from '#api/pki/certificate.ts';
import { freePort } from '../../testing/free-port.ts';
import { type Child, startChild } from './child.ts';
import { authority, serverOf } from './pki.ts';

export interface IdentityProvider extends AsyncDisposable {
  readonly issuer: string;
  /** PEM of its certificate's CA. */
  readonly ca: string;
  /** Starts the process with a new key. */
  start(): Promise<void>;
  stop(): Promise<void>;
  /** Returns an ID token with these claims. */
  idToken(claims: object): Promise<string>;
}

export interface ProviderOptions {
  readonly clientId: string;
  readonly algorithm: 'ES256' | 'RS256' | 'PS512';
  /** Names of the claims that tokens may have. */
  readonly claims: readonly string[];
  readonly tokenSeconds?: number;
}

const SECRET = 'secret-of-the-client';
const REDIRECT = 'https://client.example/callback';

function newKeys(algorithm: ProviderOptions['algorithm'], kid: string): object {
  const { privateKey } =
    algorithm === 'ES256'
      ? generateKeyPairSync('ec', { namedCurve: 'prime256v1' })
      : generateKeyPairSync('rsa', { modulusLength: 2048 });
  return { keys: [{ ...privateKey.export({ format: 'jwk' }), kid, alg: algorithm, use: 'sig' }] };
}

/** Follows the redirects of an authorization request to the client. Returns the code. */
async function authorize(start: URL, agent: Agent): Promise<string> {
  const cookies = new Map<string, string>();
  let url = start;
  for (let step = 0; step < 10; step += 1) {
    const { statusCode, headers, body } = await request(url, {
      dispatcher: agent,
      headers: { cookie: [...cookies].map(([name, value]) => `${name}=${value}`).join('; ') },
    });
    const page = await body.text();
    for (const each of [headers['set-cookie'] ?? []].flat()) {
      const [name = '', value = ''] = (each.split(';')[0] ?? '').split(/=(.*)/s);
      cookies.set(name, value);
    }
    const { location } = headers;
    if (typeof location !== 'string') throw new Error(`no redirect: ${statusCode} ${page}`);
    url = new URL(location, url);
    const code = url.searchParams.get('code');
    if (code !== null) return code;
  }
  throw new Error(`no code after ten redirects, at ${url.href}`);
}

/** Creates a provider that is not started yet. */
export async function createIdentityProvider(options: ProviderOptions): Promise<IdentityProvider> {
  const port = await freePort();
  const issuer = `https://127.0.0.1:${port}`;
  const root: Identity = authority('identity-provider-ca');
  const { certificate, key } = serverOf(root);
  const agent = new Agent({ connect: { ca: root.certificate } });
  let child: Child | undefined;
  let starts = 0;
  const { clientId, algorithm, claims, tokenSeconds = 300 } = options;
  return {
    issuer,
    ca: root.certificate,
    async start() {
      starts += 1;
      child = await startChild('identity-provider.program.ts', {
        issuer,
        port,
        cert: certificate,
        key,
        algorithm,
        jwks: newKeys(algorithm, `key-${starts}`),
        claims,
        tokenSeconds,
        client: {
          client_id: clientId,
          client_secret: SECRET,
          redirect_uris: [REDIRECT],
          id_token_signed_response_alg: algorithm,
        },
      });
    },
    stop: async () => child?.stop(),
    async idToken(wanted) {
      const url = new URL(`${issuer}/auth`);
      url.search = new URLSearchParams({
        client_id: clientId,
        response_type: 'code',
        scope: 'openid',
        redirect_uri: REDIRECT,
        login_hint: JSON.stringify(wanted),
      }).toString();
      const code = await authorize(url, agent);
      const { body } = await request(`${issuer}/token`, {
        method: 'POST',
        dispatcher: agent,
        headers: {
          'content-type': 'application/x-www-form-urlencoded',
          authorization: `Basic ${Buffer.from(`${clientId}:${SECRET}`).toString('base64')}`,
        },
        body: new URLSearchParams({
          grant_type: 'authorization_code',
          code,
          redirect_uri: REDIRECT,
        }).toString(),
      });
      const response = (await body.json()) as { readonly id_token?: string };
      if (response.id_token === undefined) throw new Error(`no ID token: ${JSON.stringify(response)}`);
      return response.id_token;
    },
    async [Symbol.asyncDispose]() {
      await child?.stop();
      await agent.destroy();
    },
  };
}
