/** Keys and lifetimes of service account tokens. Document 2 §5.2. */
import { generateKeyPairSync } from 'node:crypto';
import { readFile, rename, writeFile } from 'node:fs/promises';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { VOCABULARIES } from '#api/vocabulary.ts';
import { createTempDir, type TempDir } from '../../testing/temp.ts';
import { pod, usePlane } from '../plane/support.ts';

const RELOADED = { timeout: 25_000, interval: 250 };
const FIRST = 'https://first.example';
const SECOND = 'https://second.example';
const YEAR = 31_536_000;

const pem = () => {
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-384' });
  return {
    secret: privateKey.export({ type: 'pkcs8', format: 'pem' }),
    open: publicKey.export({ type: 'spki', format: 'pem' }),
  };
};
const claims = (token: string): Readonly<Record<string, unknown>> =>
  JSON.parse(Buffer.from(token.split('.')[1] ?? '', 'base64url').toString()) as Readonly<
    Record<string, unknown>
  >;

let dir: TempDir;
beforeAll(async () => {
  dir = await createTempDir('na-keys-');
});
afterAll(() => dir[Symbol.asyncDispose]());

interface Issued {
  readonly spec: { readonly expirationSeconds: number; readonly audiences: readonly string[] };
  readonly status: { readonly token: string; readonly expirationTimestamp: string };
}

describe('a server with key files, two issuers and a limit', () => {
  const [one, two, three] = [pem(), pem(), pem()];
  /** Replaces a file as a whole, as a secret volume does. */
  async function put(name: string, text: string): Promise<void> {
    await writeFile(`${dir.path}/${name}.new`, text);
    await rename(`${dir.path}/${name}.new`, `${dir.path}/${name}`);
  }
  const plane = usePlane('kubernetes', async () => {
    await put('signing', one.secret);
    await put('others', `${one.open}${three.open}`);
    await writeFile(
      `${dir.path}/audit.yaml`,
      JSON.stringify({
        apiVersion: `audit.${VOCABULARIES.kubernetes.apiGroupDomain}/v1`,
        kind: 'Policy',
        rules: [{ level: 'Metadata' }],
      }),
    );
    return [
      `--service-account-signing-key-file=${dir.path}/signing`,
      `--service-account-key-file=${dir.path}/others`,
      `--service-account-issuer=${FIRST}`,
      `--service-account-issuer=${SECOND}`,
      '--service-account-max-token-expiration=2h',
      `--audit-policy-file=${dir.path}/audit.yaml`,
      `--audit-log-path=${dir.path}/audit.log`,
    ];
  });
  const account = '/api/v1/namespaces/default/serviceaccounts/robot';
  beforeAll(async () => {
    await plane.post('/api/v1/namespaces/default/serviceaccounts', { metadata: { name: 'robot' } });
    await plane.post(
      '/api/v1/namespaces/default/pods',
      pod('p', { serviceAccountName: 'robot', automountServiceAccountToken: false }),
    );
  });
  async function issue(spec: object = {}): Promise<Issued & { readonly warning: unknown }> {
    const { body, headers } = await plane.post(`${account}/token`, { spec });
    return { ...(body as unknown as Issued), warning: headers['warning'] };
  }
  const statusFor = async (token: string): Promise<number> => (await plane.as(token).get('/api')).status;
  const keyIds = async (): Promise<readonly string[]> => {
    const { body } = await plane.get('/openid/v1/jwks');
    const { keys } = body as unknown as { readonly keys: readonly { kid: string; alg: string }[] };
    expect(keys.every(({ alg }) => alg === 'ES384')).toBe(true);
    return keys.map(({ kid }) => kid);
  };

  test('issues for the first issuer, and accepts the audience of each', async () => {
    const { spec, status } = await issue();
    expect(spec.audiences).toEqual([FIRST, SECOND]);
    expect(claims(status.token)).toMatchObject({ iss: FIRST });
    const second = await issue({ audiences: [SECOND] });
    expect(await statusFor(second.status.token)).toBe(200);
    expect((await plane.get('/.well-known/openid-configuration')).body).toMatchObject({ issuer: FIRST });
  });

  test('shortens requests beyond the limit, with a warning', async () => {
    const short = await issue({ expirationSeconds: 7200 });
    expect([short.spec.expirationSeconds, short.warning]).toEqual([7200, undefined]);
    const long = await issue({ expirationSeconds: 7201 });
    expect(long.spec.expirationSeconds).toBe(7200);
    expect(long.warning).toBe('299 - "requested expiration of 7201 seconds shortened to 7200 seconds"');
    const { iat, exp } = claims(long.status.token) as { readonly iat: number; readonly exp: number };
    expect(exp - iat).toBe(7200);
  });

  const bound = { boundObjectRef: { apiVersion: 'v1', kind: 'Pod', name: 'p' } };
  test.each([
    ['the token of a pod', { ...bound, expirationSeconds: 3607 }, YEAR],
    ['a token without a pod', { expirationSeconds: 3607 }, 3607],
    ['another lifetime', { ...bound, expirationSeconds: 3608 }, 3608],
    ['another audience', { ...bound, expirationSeconds: 3607, audiences: [FIRST, 'vault'] }, 3607],
  ])('extends the validity: %s', async (_, spec, seconds) => {
    const { status, spec: granted } = await issue(spec);
    const { iat, exp, ...rest } = claims(status.token) as { readonly iat: number; readonly exp: number };
    expect([exp - iat, granted.expirationSeconds]).toEqual([seconds, spec.expirationSeconds]);
    // The response has the requested time.
    expect(Date.parse(status.expirationTimestamp) / 1000 - iat).toBe(spec.expirationSeconds);
    const own = (rest as Readonly<Record<string, { readonly warnafter?: number }>>)[plane.words.domain];
    expect(own?.warnafter).toBe(seconds === YEAR ? iat + 3607 : undefined);
    expect(await statusFor(status.token)).toBe(200);
  });

  test('counts the use of extended tokens', async () => {
    const { status } = await issue({ ...bound, expirationSeconds: 3607 });
    await statusFor(status.token);
    const { text } = await plane.get('/metrics');
    expect(text).toMatch(/^serviceaccount_valid_tokens_total [1-9]/m);
    expect(text).toMatch(/^serviceaccount_stale_tokens_total 0$/m);
    expect(await readFile(`${dir.path}/audit.log`, 'utf8')).not.toContain('stale-token');
  });

  test('rotates its keys without a restart', async () => {
    const old = await issue();
    const before = await keyIds();
    await put('others', `${one.open}${two.open}`);
    await expect.poll(keyIds, RELOADED).not.toEqual(before);
    await put('signing', two.secret);
    await expect.poll(async () => (await keyIds())[0] === before[0], RELOADED).toBe(false);
    const young = await issue();
    expect([await statusFor(old.status.token), await statusFor(young.status.token)]).toEqual([200, 200]);
    await put('others', two.open);
    await expect.poll(() => statusFor(old.status.token), RELOADED).toBe(401);
    expect(await statusFor(young.status.token)).toBe(200);
  }, 90_000);
});
