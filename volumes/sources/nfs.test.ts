import { describe, expect, it, test } from 'vitest';
import type { NFSVolumeSource } from '#api/gen/core-v1.ts';
import type { SourceRequest } from '../contract/source.ts';
import { commandOf, createTestRequest } from '../network/request.fixture.ts';
import { nfs } from './nfs.ts';

interface Row {
  readonly title: string;
  readonly spec: Partial<NFSVolumeSource>;
  readonly request?: Partial<SourceRequest>;
  readonly command: string;
  readonly readOnly?: true;
}

const ROWS: readonly Row[] = [
  { title: 'server and path', spec: {}, command: 'mount.nfs nfs.example.com:/export DIR/data' },
  {
    title: 'an IPv6 server',
    spec: { server: 'fd00::1' },
    command: 'mount.nfs [fd00::1]:/export DIR/data',
  },
  {
    title: 'readOnly of the volume',
    spec: { readOnly: true },
    command: 'mount.nfs nfs.example.com:/export DIR/data -o ro',
    readOnly: true,
  },
  {
    title: 'readOnly of the claim’s use',
    spec: {},
    request: { readOnly: true },
    command: 'mount.nfs nfs.example.com:/export DIR/data -o ro',
    readOnly: true,
  },
  {
    title: 'options of the PersistentVolume',
    spec: { readOnly: true },
    request: { mountOptions: ['hard', 'nfsvers=4.1', 'rw', 'hard', '_netdev'] },
    command: 'mount.nfs nfs.example.com:/export DIR/data -o hard,nfsvers=4.1,ro',
    readOnly: true,
  },
  {
    title: 'fsGroup: not applied',
    spec: {},
    request: { fsGroup: 2000 },
    command: 'mount.nfs nfs.example.com:/export DIR/data',
  },
];

describe('nfs', () => {
  test.each(ROWS)('$title', async ({ spec, request, command, readOnly = false }) => {
    await using served = await createTestRequest();
    const fields = { nfs: { server: 'nfs.example.com', path: '/export', ...spec } };
    const ready = await served.setUp(nfs, fields, request);
    expect(served.calls.map((call) => commandOf(call, served.base))).toEqual([command]);
    expect(ready).toMatchObject({ readOnly, seLinuxRelabel: false, changes: false });
  });

  it.each([
    [{ server: '-o' }, 'nfs.server'],
    [{ server: 'a b' }, 'nfs.server'],
    [{ path: 'export' }, 'nfs.path'],
    [{ path: '/export/../..' }, 'nfs.path'],
  ])('rejects %j', async (spec, field) => {
    await using served = await createTestRequest();
    const fields = { nfs: { server: 'nfs.example.com', path: '/export', ...spec } };
    await expect(served.setUp(nfs, fields)).rejects.toThrow(field);
    expect(served.calls).toEqual([]);
  });
});
