import { appendFile, mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it, test } from 'vitest';
import type { Endpoints, GlusterfsPersistentVolumeSource } from '#api/gen/core-v1.ts';
import type { SourcePlugin, SourceRequest } from '../contract/source.ts';
import {
  type Behaviour,
  createTestRequest,
  optionsOf,
  type ProgramCall,
  type TestRequest,
} from '../network/request.fixture.ts';
import { MissingProgramError } from '../programs/errors.ts';
import { createGlusterfs, glusterAddresses, glusterMounts, lastLogError } from './glusterfs.ts';

const SPEC = { endpoints: 'gluster', path: 'vol1' };
const NO_CALL: ProgramCall = { program: '', args: [] };

const endpointsOf = (...ips: readonly string[]): Endpoints => ({
  subsets: [{ addresses: ips.map((ip) => ({ ip })) }],
});

interface Served extends TestRequest {
  readonly plugin: SourcePlugin;
  readonly log: string;
}

async function served(behave?: Behaviour, ...ips: readonly string[]): Promise<Served> {
  const requested = await createTestRequest(behave);
  const logs = join(requested.base, 'logs');
  await mkdir(logs);
  requested.endpoints.set('default/gluster', endpointsOf(...(ips.length === 0 ? ['10.0.0.1'] : ips)));
  const log = join(logs, `${requested.request.services.domain}-vol1.log`);
  return { ...requested, plugin: createGlusterfs(logs), log };
}

describe('glusterfs', () => {
  it('mounts the volume from the addresses of the Endpoints object', async () => {
    await using requested = await served(undefined, '10.0.0.1', '10.0.0.2', '10.0.0.3', '10.0.0.2');
    const ready = await requested.setUp(requested.plugin, { glusterfs: SPEC });
    const [call = NO_CALL] = requested.calls;
    expect([call.program, call.args[0]]).toEqual(['mount.glusterfs', '10.0.0.1:vol1']);
    expect(optionsOf(call)).toEqual([
      `log-file=${requested.log}`,
      'log-level=ERROR',
      'backup-volfile-servers=10.0.0.2:10.0.0.3',
    ]);
    expect(ready).toMatchObject({ readOnly: false, seLinuxRelabel: false });
  });

  it.each<[string, Partial<GlusterfsPersistentVolumeSource>, Partial<SourceRequest>]>([
    ['the volume', { readOnly: true }, {}],
    ['the use of its claim', {}, { readOnly: true }],
  ])('is read-only as %s requires', async (_, spec, request) => {
    await using requested = await served();
    const ready = await requested.setUp(requested.plugin, { glusterfs: { ...SPEC, ...spec } }, request);
    expect(ready.readOnly).toBe(true);
    expect(optionsOf(requested.calls[0] ?? NO_CALL)).toContain('ro');
  });

  it('does not override the log options of the PersistentVolume', async () => {
    await using requested = await served(undefined, '10.0.0.1', '10.0.0.2');
    const mountOptions = ['log-file=/l', 'log-level=INFO', 'backup-volfile-servers=b'];
    await requested.setUp(requested.plugin, { glusterfs: SPEC }, { mountOptions });
    expect(optionsOf(requested.calls[0] ?? NO_CALL)).toEqual(mountOptions);
  });

  it('finds the Endpoints object in the namespace of the pod, or that of the volume', async () => {
    await using requested = await served();
    requested.endpoints.set('storage/gluster', endpointsOf('10.9.9.9'));
    const elsewhere = { ...SPEC, endpointsNamespace: 'storage' };
    await requested.setUp(requested.plugin, { glusterfs: elsewhere });
    expect(requested.calls[0]?.args[0]).toBe('10.9.9.9:vol1');
    const missing = { ...SPEC, endpoints: 'none' };
    await using other = await served();
    await expect(other.setUp(other.plugin, { glusterfs: missing })).rejects.toThrow(
      'Endpoints default/none not found',
    );
  });

  it('reports the last error in the client’s log, and only of this attempt', async () => {
    const line = (text: string): string =>
      `[2026-01-01 00:00:00.0] E [MSGID: 1] [a.c:1:f] 0-glusterfs: ${text}\n`;
    await using requested = await served(async () => {
      await appendFile(requested.log, line('failed to fetch volume file'));
      return { code: 1, stderr: 'Mount failed. Check the log file for more details.' };
    });
    await writeFile(requested.log, line('something old'));
    const failure = requested.setUp(requested.plugin, { glusterfs: SPEC });
    await expect(failure).rejects.toThrow(/Mount failed.*log: .*failed to fetch volume file$/);
    await expect(failure).rejects.not.toThrow('something old');
  });

  it('tries servers with IPv6 addresses one after the other', async () => {
    await using requested = await served(
      ({ args }) => (args[0]?.includes('::2') ? undefined : { code: 1 }),
      'fd00::1',
      'fd00::2',
    );
    await requested.setUp(requested.plugin, { glusterfs: SPEC });
    expect(requested.calls.map(({ args }) => args[0])).toEqual(['[fd00::1]:vol1', '[fd00::2]:vol1']);
  });

  it('tries no second server without a helper', async () => {
    await using requested = await served(
      ({ program }) => {
        throw new MissingProgramError(program);
      },
      'fd00::1',
      'fd00::2',
    );
    await expect(requested.setUp(requested.plugin, { glusterfs: SPEC })).rejects.toThrow('glusterfs-client');
    expect(requested.calls).toHaveLength(1);
  });

  it.each(['', '/', '..', 'vol/../..', '-o', 'vol/a --log-file=/etc/x', 'vol/*', 'vol/$(id)', 'vol\n'])(
    'rejects path %j',
    async (path) => {
      await using requested = await served();
      await expect(requested.setUp(requested.plugin, { glusterfs: { ...SPEC, path } })).rejects.toThrow(
        'glusterfs.path',
      );
      expect(requested.calls).toEqual([]);
    },
  );
});

it.each(['vol1', '/vol1', 'vol-1/a/b.c', '/vol1/a/'])('takes path %j', async (path) => {
  await using requested = await served();
  await requested.setUp(requested.plugin, { glusterfs: { ...SPEC, path } });
  expect(requested.calls[0]?.args[0]).toBe(`10.0.0.1:${path}`);
});

describe('glusterAddresses', () => {
  it('requires an address', () => {
    expect(() => glusterAddresses({ subsets: [{ notReadyAddresses: [{ ip: '10.0.0.1' }] }] }, 'E')).toThrow(
      'E has no addresses',
    );
  });
});

describe('glusterMounts', () => {
  test('both families: the first of IPv4 with its backups, then each of IPv6', () => {
    expect(glusterMounts(['fd00::1', '10.0.0.1', '10.0.0.2'], '/v', ['ro'])).toEqual([
      { source: '10.0.0.1:/v', options: ['ro', 'backup-volfile-servers=10.0.0.2'] },
      { source: '[fd00::1]:/v', options: ['ro'] },
    ]);
  });
});

describe('lastLogError', () => {
  it('is empty for a log without errors', () => {
    expect(lastLogError('[t] I [x] fine\n')).toBe('');
  });
});
