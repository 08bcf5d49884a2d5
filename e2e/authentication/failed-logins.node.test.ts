/** A flood of failed logins: what it causes is counted, and other clients are served meanwhile. */
import { generateKeyPairSync } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import { afterAll, expect, test } from 'vitest';
import { signToken, tokenKey } from '#plane/authn/jwt.ts';
import { freePort } from '../../testing/free-port.ts';
import { ofRound } from '../../testing/rounds.ts';
import { usePlane } from '../plane/support.ts';
import { startTokenWebhook, type TokenWebhook, tokenFor } from './token-webhook.ts';

const LOGINS = ofRound({ short: 2000, long: 10_000 });
/** Each of them is used many times. */
const DISTINCT = 200;
const AT_ONCE = 50;
/** Bound of concurrent calls of the webhook. */
const CALLS = 16;

const SERVICE_ACCOUNTS = 'https://cluster.example';
let provider = '';
let webhook: TokenWebhook;
const plane = usePlane('kubernetes', async (dir) => {
  webhook = await startTokenWebhook(dir);
  provider = `https://127.0.0.1:${await freePort()}`;
  await writeFile(`${dir}/tokens`, 'static,carl,1,system:masters\n');
  return [
    `--authentication-token-webhook-config-file=${webhook.configFile}`,
    `--service-account-issuer=${SERVICE_ACCOUNTS}`,
    `--oidc-issuer-url=${provider}`,
    '--oidc-client-id=cluster',
    '--oidc-signing-algs=ES256',
    `--token-auth-file=${dir}/tokens`,
  ];
});
afterAll(() => webhook[Symbol.asyncDispose]());

const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'prime256v1' });
const exp = Math.floor(Date.now() / 1000) + 3600;
const forged = (iss: string, sub: string): Promise<string> =>
  signToken({ iss, aud: ['cluster', SERVICE_ACCOUNTS], exp, sub }, privateKey, tokenKey(privateKey));

test(`${LOGINS} failed logins cost one call for each bad token, and no other client a request`, async () => {
  const tokens = await Promise.all(
    Array.from({ length: DISTINCT }, (_, index) => {
      if (index % 4 === 0) return forged(provider, `user-${index}`);
      if (index % 4 === 1) return forged(SERVICE_ACCOUNTS, `system:serviceaccount:n:${index}`);
      return Promise.resolve(`unknown-${index}`);
    }),
  );
  const known = tokenFor({ status: { authenticated: true, user: { username: 'ann' } } });
  expect((await plane.as(known).get('/api')).status).toBe(200);
  const logins = { left: LOGINS };
  const statuses = new Set<number>();
  const others = new Set<number>();
  async function attack(): Promise<void> {
    while (logins.left > 0) {
      logins.left -= 1;
      const { status } = await plane.as(tokens[logins.left % DISTINCT] ?? '').get('/api');
      statuses.add(status);
    }
  }
  async function work(token: string): Promise<void> {
    while (logins.left > 0) others.add((await plane.as(token).get('/api')).status);
  }
  await Promise.all([...Array.from({ length: AT_ONCE }, attack), work('static'), work(known)]);
  expect([...statuses]).toEqual([401]);
  expect([...others]).toEqual([200]);
  // A token that nobody knows reaches the webhook once; the good one was cached before.
  const reviews = await webhook.reviews();
  const sent = reviews.map(({ spec }) => spec.token);
  expect(new Set(sent)).toEqual(new Set([...tokens, known]));
  expect(sent.length).toBe(DISTINCT + 1);
  expect(await webhook.mostAtOnce()).toBeLessThanOrEqual(CALLS);
  const { text } = await plane.get('/metrics');
  expect(text).toMatch(/^authentication_token_cache_active_fetch_count\{status="blocked"\} 0$/m);
}, 120_000);
