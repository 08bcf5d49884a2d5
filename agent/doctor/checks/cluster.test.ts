import { describe, expect, test } from 'vitest';
import { createAuthority } from '#api/pki/certificate.ts';
import type { Machine } from '../machine.ts';
import { checkServer, createCertificateCheck } from './cluster.ts';

const NOW = Date.UTC(2026, 0, 10);
const DAY = 86_400_000;

const pemOf = (fromDays: number, toDays: number): string =>
  createAuthority({ commonName: 'x' }, new Date(NOW + fromDays * DAY), new Date(NOW + toDays * DAY))
    .certificate;

type Seen = Pick<Machine, 'settings' | 'read' | 'path' | 'readServerInfo'>;

const machineOf = (
  files: Readonly<Record<string, string>>,
  readServerInfo: Machine['readServerInfo'] = () => Promise.reject(new Error('connection refused')),
  platconfig = '/p',
): Machine => {
  const seen: Seen = {
    settings: { platconfig, certDir: '/pki' } as Machine['settings'],
    read: (path) => Promise.resolve(files[path]),
    path: (path) => `/root${path}`,
    readServerInfo,
  };
  return seen as Machine;
};

describe('checkServer', () => {
  test('returns nothing for a standalone node', async () => {
    const machine = machineOf({}, undefined, '');
    expect(await checkServer(machine)).toEqual([]);
    expect(await createCertificateCheck(() => NOW)(machine)).toEqual([]);
  });

  test('queries the server with the client configuration', async () => {
    const machine = machineOf({ '/p': '' }, (file) => Promise.resolve({ state: 'ok', detail: file }));
    expect(await checkServer(machine)).toEqual([
      { area: 'cluster', subject: 'API server', state: 'ok', detail: '/root/p' },
    ]);
  });

  test.each([
    [{ '/p': '' }, 'connection refused'],
    [{}, 'no client configuration at /p'],
  ])('%j is broken', async (files, detail) => {
    expect(await checkServer(machineOf(files))).toMatchObject([{ state: 'broken', detail }]);
  });
});

describe('createCertificateCheck', () => {
  test.each([
    ['good', pemOf(-10, 355), 'ok', 'valid until 2026-12-31 00:00 UTC (355 days)'],
    ['late', pemOf(-364, 1), 'limited', '(1 days)'],
    ['over', pemOf(-10, -1), 'broken', 'expired on 2026-01-09 00:00'],
    ['early', pemOf(1, 10), 'broken', 'not valid yet'],
    ['no certificate', 'rubbish', 'broken', 'is not a certificate'],
  ])('%s', async (_, pem, state, detail) => {
    const machine = machineOf({ '/pki/nodeagent-client-current.pem': pem });
    const [finding, ...more] = await createCertificateCheck(() => NOW)(machine);
    expect(finding).toMatchObject({ subject: 'client certificate', state });
    expect(finding?.detail).toContain(detail);
    expect(more).toEqual([]);
  });

  test('checks existing certificates', async () => {
    const found = await createCertificateCheck(() => NOW)(
      machineOf({ '/pki/cluster-ca.crt': pemOf(-1, 10) }),
    );
    expect(found.map(({ subject }) => subject)).toEqual(['cluster CA']);
  });
});
