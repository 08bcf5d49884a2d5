import { describe, expect, test } from 'vitest';
import { createFakeClock } from '#api/kit/clock.ts';
import { silentLogger } from '#api/kit/logger.ts';
import { createAuthority } from '#api/pki/certificate.ts';
import { joinCredentials } from './credentials.ts';
import { createFileCredentials } from './file-credentials.ts';

const { signal } = new AbortController();
const one = createAuthority({ commonName: 'a' }, new Date(0), new Date(4e12));
const two = createAuthority({ commonName: 'b' }, new Date(0), new Date(4e12));

function setUp() {
  const clock = createFakeClock();
  const files = new Map<string, string>();
  const reads: string[] = [];
  const deps = {
    clock,
    log: silentLogger,
    readFile(path: string) {
      reads.push(path);
      const text = files.get(path);
      return text === undefined ? Promise.reject(new Error(`no ${path}`)) : Promise.resolve(text);
    },
  };
  return { clock, files, reads, deps };
}

describe('a token file', () => {
  test('is read again when a minute has passed', async () => {
    const { clock, files, reads, deps } = setUp();
    files.set('/t', 'a\n');
    const source = joinCredentials(createFileCredentials(deps, { bearer: { token: '', tokenFile: '/t' } }));
    const current = async () => (await source.current(signal)).authorization;
    expect(await current()).toBe('Bearer a');
    files.set('/t', 'b');
    await clock.advance(59_999);
    expect([await current(), reads.length]).toEqual(['Bearer a', 1]);
    await clock.advance(1);
    expect([await current(), reads.length]).toEqual(['Bearer b', 2]);
  });

  test('is read at once when it was renewed, even during a read', async () => {
    const { files, reads, deps } = setUp();
    files.set('/t', 'a');
    let renewed = (): void => undefined;
    let hold: Promise<void> | undefined;
    const source = joinCredentials(
      createFileCredentials(
        {
          ...deps,
          async readFile(path) {
            const text = await deps.readFile(path);
            await hold;
            return text;
          },
          onRenewed(listener) {
            renewed = listener;
            return () => undefined;
          },
        },
        { bearer: { token: '', tokenFile: '/t' } },
      ),
    );
    const current = async () => (await source.current(signal)).authorization;
    expect(await current()).toBe('Bearer a');
    renewed();
    const slow = Promise.withResolvers<void>();
    hold = slow.promise;
    const early = current();
    await expect.poll(() => reads.length).toBe(2);
    hold = undefined;
    files.set('/t', 'b');
    renewed();
    expect(await current()).toBe('Bearer b');
    slow.resolve();
    await early;
    expect([await current(), reads.length]).toEqual(['Bearer b', 3]);
  });

  test('is read at once when its token was rejected, unless a newer one is known', async () => {
    const { files, reads, deps } = setUp();
    files.set('/t', 'a');
    const source = joinCredentials(createFileCredentials(deps, { bearer: { token: '', tokenFile: '/t' } }));
    const used = await source.current(signal);
    files.set('/t', 'b');
    await source.refused(used, signal);
    await source.refused(used, signal);
    expect(await source.current(signal)).toEqual({ authorization: 'Bearer b' });
    expect(reads).toHaveLength(2);
  });

  test('stays in use when it is deleted or empty', async () => {
    const { clock, files, deps } = setUp();
    files.set('/t', 'a');
    const source = joinCredentials(createFileCredentials(deps, { bearer: { token: '', tokenFile: '/t' } }));
    await source.current(signal);
    files.set('/t', '');
    await clock.advance(60_000);
    expect(await source.current(signal)).toEqual({ authorization: 'Bearer a' });
  });

  test('is replaced by the token of the configuration until it exists', async () => {
    const { files, deps } = setUp();
    const source = joinCredentials(createFileCredentials(deps, { bearer: { token: 'x', tokenFile: '/t' } }));
    expect(await source.current(signal)).toEqual({ authorization: 'Bearer x' });
    files.set('/t', 'a');
    expect(await source.current(signal)).toEqual({ authorization: 'Bearer a' });
  });

  test.each([
    ['missing', undefined, 'no /t'],
    ['empty', ' \n', '/t is empty: it must contain a bearer token'],
    ['of two lines', 'a\nb', '/t has more than one line: it must contain only a bearer token'],
  ])('fails if it is %s from the start', async (_, text, message) => {
    const { files, deps } = setUp();
    if (text !== undefined) files.set('/t', text);
    const source = joinCredentials(createFileCredentials(deps, { bearer: { token: '', tokenFile: '/t' } }));
    await expect(source.current(signal)).rejects.toThrow(message);
  });
});

describe('certificate files', () => {
  const certificate = {
    certificate: { kind: 'file', path: '/c' },
    key: { kind: 'file', path: '/k' },
  } as const;

  test('are used only together', async () => {
    const { clock, files, deps } = setUp();
    files.set('/c', one.certificate).set('/k', one.key);
    const source = joinCredentials(createFileCredentials(deps, { certificate }));
    const first = await source.current(signal);
    files.set('/c', two.certificate);
    await clock.advance(60_000);
    expect((await source.current(signal)).certificate).toBe(first.certificate);
    files.set('/k', two.key);
    await clock.advance(60_000);
    expect((await source.current(signal)).certificate).toEqual({
      certificate: two.certificate,
      key: two.key,
    });
  });

  test('that do not match from the start are an error', async () => {
    const { files, deps } = setUp();
    files.set('/c', one.certificate).set('/k', two.key);
    const source = joinCredentials(createFileCredentials(deps, { certificate }));
    await expect(source.current(signal)).rejects.toThrow('/c and /k: the key does not match the certificate');
  });
});

test('basic authentication and a certificate are sent together', async () => {
  const { deps } = setUp();
  const source = joinCredentials(
    createFileCredentials(deps, {
      certificate: {
        certificate: { kind: 'data', pem: one.certificate },
        key: { kind: 'data', pem: one.key },
      },
      basic: { username: 'u', password: 'p' },
    }),
  );
  expect(await source.current(signal)).toEqual({
    authorization: `Basic ${Buffer.from('u:p').toString('base64')}`,
    certificate: { certificate: one.certificate, key: one.key },
  });
});
