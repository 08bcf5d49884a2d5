import { writeFile } from 'node:fs/promises';
import { describe, expect, test } from 'vitest';
import { createFakeClock } from '#api/kit/clock.ts';
import { silentLogger } from '#api/kit/logger.ts';
import { VOCABULARIES } from '#api/vocabulary.ts';
import { createTempDir } from '../../testing/temp.ts';
import {
  type ClientCertificateOptions,
  type ClientPlace,
  placeOf,
  platconfigState,
  usable,
} from './client-place.ts';
import { formatPrivateKey, makeKey } from './keys.ts';
import { nodeUser } from './signing-request.ts';
import { createTestAuthority } from './store.fixture.ts';

const NOW = Date.parse('2026-05-06T07:08:09Z');
const HOUR = 3_600_000;
const authority = createTestAuthority(NOW);
const base64 = (text: string): string => Buffer.from(text).toString('base64');

interface Pair {
  readonly certificate: string;
  readonly key: Awaited<ReturnType<typeof makeKey>>;
}

async function pairOf(name: string, fromMs: number, untilMs = NOW + 10 * HOUR): Promise<Pair> {
  const key = await makeKey('ecdsa');
  return { key, certificate: authority.issue(key, nodeUser(name), fromMs, untilMs) };
}

async function setUp(rotate: boolean) {
  const dir = await createTempDir('na-cp-');
  const options: ClientCertificateOptions = {
    nodeName: 'n1',
    certDir: `${dir.path}/pki`,
    platconfig: `${dir.path}/platconfig`,
    bootstrapConfig: '',
    rotate,
  };
  const deps = {
    clock: createFakeClock(NOW),
    log: silentLogger,
    env: {},
    hasTerminal: false,
    passOn: () => undefined,
    vocabulary: VOCABULARIES.plat,
    userAgent: 'test/1',
  };
  const place = placeOf(deps, options);
  const write = async (user: object): Promise<void> => {
    const config = {
      apiVersion: 'v1',
      kind: 'Config',
      clusters: [{ name: 'x', cluster: { server: 'https://127.0.0.1:1' } }],
      users: [{ name: 'x', user }],
      contexts: [{ name: 'x', context: { cluster: 'x', user: 'x' } }],
      'current-context': 'x',
    };
    await writeFile(options.platconfig, JSON.stringify(config), { mode: 0o600 });
  };
  return {
    place,
    write,
    state: () => platconfigState(deps, options),
    embed: ({ certificate, key }: Pair) =>
      write({
        'client-certificate-data': base64(certificate),
        'client-key-data': base64(formatPrivateKey(key)),
      }),
    [Symbol.asyncDispose]: () => dir[Symbol.asyncDispose](),
  };
}

const inStore = async ({ store }: ClientPlace): Promise<string | undefined> =>
  (await store.current())?.certificate;

describe('usable', () => {
  test('copies the certificate of the platconfig to the store if rotation is enabled', async () => {
    await using world = await setUp(true);
    const pair = await pairOf('n1', NOW - HOUR);
    await world.embed(pair);
    const { credentials } = await usable(world.place);
    const source = { kind: 'file', path: world.place.store.currentPath };
    expect(credentials.certificate).toEqual({ certificate: source, key: source });
    expect(await inStore(world.place)).toBe(pair.certificate);
  });

  test.each([
    ['keeps what was renewed since', 'n1', -1, false],
    ['uses a newer certificate from the platconfig', 'n1', -3, true],
    ['takes no certificate of another node', 'n2', -1, true],
  ])('%s', async (_, storedName, storedFromHours, takesConfigured) => {
    await using world = await setUp(true);
    const configured = await pairOf('n1', NOW - 2 * HOUR);
    const stored = await pairOf(storedName, NOW + storedFromHours * HOUR);
    await world.place.store.save(stored.certificate, stored.key);
    await world.embed(configured);
    await usable(world.place);
    expect(await inStore(world.place)).toBe(takesConfigured ? configured.certificate : stored.certificate);
  });

  test('uses the platconfig unchanged without rotation', async () => {
    await using world = await setUp(false);
    await world.embed(await pairOf('n1', NOW - HOUR));
    expect((await usable(world.place)).credentials.certificate?.key.kind).toBe('data');
    expect(await inStore(world.place)).toBeUndefined();
  });

  test('does not change tokens', async () => {
    await using world = await setUp(true);
    await world.write({ token: 'abc' });
    expect((await usable(world.place)).credentials).toEqual({ bearer: { token: 'abc' } });
  });
});

describe('platconfigState', () => {
  test('returns the state', async () => {
    await using world = await setUp(true);
    expect(await world.state()).toBe('missing');
    await writeFile(world.place.options.platconfig, '[', { mode: 0o600 });
    expect(await world.state()).toBe('broken');
    await world.write({ 'client-certificate': 'not-there.pem', 'client-key': 'not-there.pem' });
    expect(await world.state()).toBe('broken');
    await world.write({ token: 'abc' });
    expect(await world.state()).toBe('good');
    await world.embed(await pairOf('n1', NOW - 2 * HOUR, NOW - HOUR));
    expect(await world.state()).toBe('expired');
    // The renewed one stays in use.
    const stored = await pairOf('n1', NOW - HOUR);
    await world.place.store.save(stored.certificate, stored.key);
    expect(await world.state()).toBe('good');
  });
});
