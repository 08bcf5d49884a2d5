/** OpenID Connect provider as a process, over TLS. The login hint of a request is the account: its claims, as JSON. Every
 *  account is logged in and has granted everything. */
import { createServer } from 'node:https';
import { type Grant, Provider } from 'oidc-provider';
import { readInput } from './program-input.ts';

interface Input {
  readonly issuer: string;
  readonly port: number;
  readonly cert: string;
  readonly key: string;
  readonly jwks: object;
  /** Of the signatures of ID tokens. */
  readonly algorithm: string;
  readonly client: object;
  readonly claims: readonly string[];
  readonly tokenSeconds: number;
}

const input = (await readInput()) as Input;

const provider = new Provider(input.issuer, {
  clients: [input.client],
  claims: { openid: ['sub', ...input.claims] },
  conformIdTokenClaims: false,
  cookies: { keys: ['secret of the tests'] },
  features: { devInteractions: { enabled: false } },
  enabledJWA: { idTokenSigningAlgValues: [input.algorithm] },
  jwks: input.jwks,
  pkce: { required: () => false },
  ttl: { IdToken: input.tokenSeconds, AccessToken: 60, Grant: 60, Interaction: 60, Session: 60 },
  interactions: { url: (_, { uid }) => `/interaction/${uid}` },
  findAccount: (_, id) => ({
    accountId: id,
    claims: () => ({ sub: id, ...(JSON.parse(id) as Readonly<Record<string, unknown>>) }),
  }),
  async loadExistingGrant({ oidc }): Promise<Grant> {
    const { clientId } = oidc.client;
    const grant = new oidc.provider.Grant({ clientId, accountId: oidc.session.accountId });
    grant.addOIDCScope('openid');
    await grant.save();
    return grant;
  },
});
const respond = provider.callback();

createServer({ cert: input.cert, key: input.key }, (request, response) => {
  if (request.url?.startsWith('/interaction/') !== true) return respond(request, response);
  void provider
    .interactionDetails(request, response)
    .then(({ params }) =>
      provider.interactionFinished(request, response, { login: { accountId: params['login_hint'] } }),
    );
}).listen(input.port, '127.0.0.1', () => process.stdout.write('listening\n'));
