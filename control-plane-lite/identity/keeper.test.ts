import { X509Certificate } from 'node:crypto';
import { readdir, rename, rm } from 'node:fs/promises';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { createFakeClock, type FakeClock, systemClock } from '#api/kit/clock.ts';
import { silentLogger } from '#api/kit/logger.ts';
import type { Identity } from '#api/pki/certificate.ts';
import { parsePem } from '#api/pki/pem.ts';
import { createTempDir, type TempDir } from '../../testing/temp.ts';
import {
  AUTHORITY_NAMES,
  dropFormer,
  newAuthority,
  proposeAuthority,
  readIdentity,
  replacedAuthorities,
  writeIdentity,
} from './authorities.ts';
import { loadIdentity, type ServerIdentity } from './files.ts';
import { keepIdentity, type LiveIdentity } from './keeper.ts';

const NOW = Date.parse('2026-06-01T00:00:00Z');
const DAY_MS = 86_400_000;
const YEAR_MS = 365 * DAY_MS;
const WAIT = { timeout: 5000 };

let dir: TempDir;
let clock: FakeClock;
let kept: LiveIdentity | undefined;
const options = () => ({
  dir: dir.path,
  dnsNames: ['localhost'],
  ipAddresses: ['127.0.0.1'],
  nodeClientName: 'server',
});
const keep = async (): Promise<LiveIdentity> =>
  (kept = await keepIdentity({ clock, log: silentLogger }, options));

beforeEach(async () => {
  dir = await createTempDir('na-keeper-');
  clock = createFakeClock(NOW);
});
afterEach(async () => {
  kept?.close();
  kept = undefined;
  await dir[Symbol.asyncDispose]();
});

const x509 = ({ certificate }: Identity): X509Certificate => new X509Certificate(certificate);
const own = (identity: ServerIdentity): readonly Identity[] => [
  identity.serving,
  identity.admin,
  identity.nodeClient,
  identity.requestHeader,
];
const areValid = (identity: ServerIdentity): boolean =>
  [...own(identity), identity.authority, identity.serverAuthority].every((each) => {
    const { validFrom, validTo } = x509(each);
    return Date.parse(validFrom) <= clock.now() && Date.parse(validTo) > clock.now();
  });
const certificates = (pem: string): number => parsePem(pem).length;

/** Files are read in real time. */
async function passMinute(): Promise<void> {
  await clock.advance(60_000);
  await new Promise((resolve) => setTimeout(resolve, 100));
}

describe('keepIdentity', () => {
  test('renews certificates a month before they expire, not earlier', async () => {
    const identity = await keep();
    const first = identity.current();
    clock.jumpWall(334 * DAY_MS);
    await passMinute();
    expect(identity.current()).toBe(first);
    clock.jumpWall(2 * DAY_MS);
    await passMinute();
    await expect.poll(() => identity.current() !== first, WAIT).toBe(true);
    expect(own(identity.current()).map((each) => x509(each).validTo)).not.toContain(
      x509(first.serving).validTo,
    );
    expect(identity.current().authority).toEqual(first.authority);
  });

  test.each([
    ['forward', YEAR_MS],
    ['back', -YEAR_MS],
  ])('has valid certificates after the clock jumps %s by a year, and back', async (_, jumpMs) => {
    const identity = await keep();
    const { authority } = identity.current();
    for (const byMs of [jumpMs, -jumpMs]) {
      clock.jumpWall(byMs);
      await clock.advance(2000);
      await expect.poll(() => areValid(identity.current()), WAIT).toBe(true);
    }
    // Clients that trust the authority are not affected.
    expect(identity.current().authority).toEqual(authority);
  });

  test('certificates made while the clock was a year ahead are valid for clients whose clock is right', async () => {
    clock.jumpWall(YEAR_MS);
    const identity = await keep();
    clock.jumpWall(-YEAR_MS);
    expect(areValid(identity.current())).toBe(true);
  });

  test('notifies when an administrator replaces the authorities, and trusts both until the end', async () => {
    clock = {
      ...createFakeClock(NOW),
      setTimer: (fire, delayMs) => systemClock.setTimer(fire, delayMs),
    };
    const identity = await keep();
    const first = identity.current();
    let changes = 0;
    identity.onChange(() => (changes += 1));
    const trustedCounts = (): readonly number[] => {
      const { authority, serverAuthority, requestHeaderAuthority } = identity.current();
      return [authority, serverAuthority, requestHeaderAuthority].map(({ trusted }) => certificates(trusted));
    };
    for (const name of AUTHORITY_NAMES) await proposeAuthority(dir.path, name, NOW);
    // Their files are read in several turns if the first event comes before the last file.
    await expect.poll(trustedCounts, WAIT).toEqual([2, 2, 2]);
    const both = identity.current();
    expect(changes).toBeGreaterThan(0);
    expect(both.authority.former).toMatchObject({ certificate: first.authority.certificate });
    // Others learn the new authority before they meet it.
    expect([both.serving, both.nodeClient, both.requestHeader]).toEqual([
      first.serving,
      first.nodeClient,
      first.requestHeader,
    ]);
    expect(x509(both.admin).verify(x509(both.authority).publicKey)).toBe(true);
    for (const name of AUTHORITY_NAMES) await dropFormer(dir.path, name);
    await expect.poll(trustedCounts, WAIT).toEqual([1, 1, 1]);
    const last = identity.current();
    expect(last.serverAuthority.certificate).toBe(both.serverAuthority.certificate);
    expect(x509(last.serving).verify(x509(last.serverAuthority).publicKey)).toBe(true);
    expect(x509(last.nodeClient).verify(x509(last.authority).publicKey)).toBe(true);
    expect(x509(last.requestHeader).verify(x509(last.requestHeaderAuthority).publicKey)).toBe(true);
    expect(await replacedAuthorities(dir.path)).toEqual([]);
  });
});

describe('loadIdentity', () => {
  const load = (): Promise<ServerIdentity> => loadIdentity({ ...options(), nowMs: NOW });

  test('a directory in which one authority signs everything goes on with it beside a new one', async () => {
    const { authority, serving } = await load();
    for (const file of await readdir(dir.path))
      if (file.startsWith('server-ca')) await rm(`${dir.path}/${file}`);
    await writeIdentity(dir.path, 'ca', authority);
    const migrated = await load();
    expect(migrated.authority.certificate).toBe(authority.certificate);
    expect(migrated.serverAuthority.former?.certificate).toBe(authority.certificate);
    // Clients that know only the former authority verify the server as before.
    expect(x509(migrated.serving).verify(x509(authority).publicKey)).toBe(true);
    expect(x509(serving).verify(x509(authority).publicKey)).toBe(false);
    expect(await load()).toEqual(migrated);
  });

  test.each(['key', 'all'])('continues a replacement that was interrupted after %s', async (point) => {
    const first = await load();
    await proposeAuthority(dir.path, 'ca', NOW);
    await rename(`${dir.path}/ca.next`, `${dir.path}/saved`);
    await rename(`${dir.path}/saved`, `${dir.path}/ca.next`);
    const [certificate = '', key = ''] = parsePem(
      await import('node:fs/promises').then(({ readFile }) => readFile(`${dir.path}/ca.next`, 'utf8')),
    ).map(({ text }) => text);
    await writeIdentity(dir.path, 'ca-old', first.authority);
    await writeIdentity(dir.path, 'ca', {
      certificate: point === 'all' ? certificate : first.authority.certificate,
      key,
    });
    const next = await load();
    expect(next.authority.certificate).toBe(certificate);
    expect(next.authority.former?.certificate).toBe(first.authority.certificate);
    expect(await readdir(dir.path)).not.toContain('ca.next');
  });

  test('rejects an authority whose key is another’s', async () => {
    await load();
    const other = newAuthority('ca', NOW);
    const known = await readIdentity(dir.path, 'ca');
    await writeIdentity(dir.path, 'ca', { certificate: known?.certificate ?? '', key: other.key });
    await expect(load()).rejects.toThrow('do not belong together');
  });
});
