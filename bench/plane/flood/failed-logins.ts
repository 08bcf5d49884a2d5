/** Failed logins of every kind that costs something: tokens that only the webhook could know, tokens of the OpenID
 *  Connect provider and of service accounts with wrong signatures, and certificates of an unknown authority. */
import { fork } from 'node:child_process';
import { generateKeyPairSync, type KeyObject } from 'node:crypto';
import { once } from 'node:events';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { createAuthority, issueIdentity } from '#api/pki/certificate.ts';
import { signToken, tokenKey } from '#plane/authn/jwt.ts';
import { freePort } from '../../../testing/free-port.ts';
import { createTempDir } from '../../../testing/temp.ts';
import { requestBytes, type Target } from '../http-client.ts';
import type { Attempt, FloodOptions, ToServices } from './messages.ts';
import { withHeader } from './with-header.ts';

/** 10,000 per minute. */
const PER_SECOND = 10_000 / 60;
const CONNECTIONS = 30;
/** Of each kind; each is used again only after the server has forgotten it. */
const TOKENS = 600;
const SERVICE_ACCOUNTS = 'https://cluster.example';
const AUDIENCE = 'cluster';
const DAY_MS = 86_400_000;

const PROGRAM = join(import.meta.dirname, 'services-process.ts');
const REQUEST = requestBytes('GET', '/api');

export interface FailedLogins {
  /** Flags of the API server. */
  readonly flags: readonly string[];
  readonly flood: (target: Target) => FloodOptions;
}

const term = (): { readonly notBefore: Date; readonly notAfter: Date } => ({
  notBefore: new Date(Date.now() - DAY_MS),
  notAfter: new Date(Date.now() + DAY_MS),
});

const newKeys = (): { readonly publicKey: KeyObject; readonly privateKey: KeyObject } =>
  generateKeyPairSync('ec', { namedCurve: 'prime256v1' });

const attemptOf = (token: string): Attempt => ({
  request: withHeader(`Authorization: Bearer ${token}`, REQUEST).toString('latin1'),
});

/** Returns tokens that an unknown key signed. */
function forge(issuer: string, subject: string, kid: string): Promise<readonly string[]> {
  const { privateKey } = newKeys();
  const exp = Math.floor((Date.now() + DAY_MS) / 1000);
  const key = { ...tokenKey(privateKey), kid };
  const sign = (_: unknown, index: number): Promise<string> =>
    signToken(
      { iss: issuer, aud: [AUDIENCE, SERVICE_ACCOUNTS], exp, sub: `${subject}${index}` },
      privateKey,
      key,
    );
  return Promise.all(Array.from({ length: TOKENS }, sign));
}

function unknownIdentity(): Attempt['identity'] {
  const { notBefore, notAfter } = term();
  const unknown = createAuthority({ commonName: 'unknown-ca' }, notBefore, notAfter);
  const issued = issueIdentity(unknown, {
    subject: { commonName: 'system:admin' },
    extendedUsages: ['clientAuth'],
    ...term(),
  });
  return { cert: issued.certificate, key: issued.key };
}

async function makeAttempts(issuer: string, kid: string): Promise<readonly Attempt[]> {
  const identity = unknownIdentity();
  const [users, accounts] = await Promise.all([
    forge(issuer, 'user-', kid),
    forge(SERVICE_ACCOUNTS, 'system:serviceaccount:n:', kid),
  ]);
  return users.flatMap((user, index) => [
    attemptOf(user),
    attemptOf(accounts[index] ?? ''),
    attemptOf(`unknown-${index}`),
    { request: REQUEST.toString('latin1'), ...(identity === undefined ? {} : { identity }) },
  ]);
}

async function startServices(stack: AsyncDisposableStack, input: ToServices): Promise<void> {
  const child = fork(PROGRAM, { stdio: ['ignore', 'inherit', 'inherit', 'ipc'] });
  stack.defer(async () => {
    if (child.exitCode !== null || child.signalCode !== null) return;
    const gone = once(child, 'exit');
    child.kill('SIGKILL');
    await gone;
  });
  const exited = once(child, 'exit').then((): never => {
    throw new Error('the process of the login services exited');
  });
  child.send(input);
  await Promise.race([once(child, 'message'), exited]);
  exited.catch(() => undefined);
}

/** Starts the services that verify logins, which stop with the stack. */
export async function prepareFailedLogins(stack: AsyncDisposableStack): Promise<FailedLogins> {
  const { path: dir } = stack.use(await createTempDir('na-bench-l-'));
  const { notBefore, notAfter } = term();
  const root = createAuthority({ commonName: 'login-services-ca' }, notBefore, notAfter);
  const { certificate: cert, key } = issueIdentity(root, {
    subject: { commonName: 'server' },
    dnsNames: ['localhost'],
    ipAddresses: ['127.0.0.1'],
    extendedUsages: ['serverAuth'],
    ...term(),
  });
  const port = await freePort();
  const issuer = `https://127.0.0.1:${port}`;
  const kid = 'bench';
  const jwk = newKeys().publicKey.export({ format: 'jwk' });
  await startServices(stack, {
    port,
    cert,
    key,
    issuer,
    jwks: { keys: [{ ...jwk, kid, alg: 'ES256', use: 'sig' }] },
  });
  const [ca, webhook] = [join(dir, 'ca.pem'), join(dir, 'webhook.conf')];
  await writeFile(ca, root.certificate);
  await writeFile(
    webhook,
    JSON.stringify({
      apiVersion: 'v1',
      kind: 'Config',
      clusters: [{ name: 'c', cluster: { server: `${issuer}/review`, 'certificate-authority': ca } }],
      users: [{ name: 'u', user: {} }],
      contexts: [{ name: 'x', context: { cluster: 'c', user: 'u' } }],
      'current-context': 'x',
    }),
  );
  const attempts = await makeAttempts(issuer, kid);
  return {
    flags: [
      `--authentication-token-webhook-config-file=${webhook}`,
      `--service-account-issuer=${SERVICE_ACCOUNTS}`,
      `--oidc-issuer-url=${issuer}`,
      `--oidc-client-id=${AUDIENCE}`,
      `--oidc-ca-file=${ca}`,
      '--oidc-signing-algs=ES256',
    ],
    flood: (target) => ({
      target: { ...target, cert: undefined, key: undefined },
      connections: CONNECTIONS,
      attempts,
      perSecond: PER_SECOND,
    }),
  };
}
