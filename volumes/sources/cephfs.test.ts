import { readFile, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it, test } from 'vitest';
import type { CephFSPersistentVolumeSource } from '#api/gen/core-v1.ts';
import type { SourcePlugin, SourceRequest } from '../contract/source.ts';
import {
  type Behaviour,
  createTestRequest,
  optionsOf,
  type ProgramCall,
  type TestRequest,
  testSecret,
} from '../network/request.fixture.ts';
import { MissingProgramError } from '../programs/errors.ts';
import { createCephfs, readCephKey } from './cephfs.ts';

const KEY = 'AQBkey==';
const NO_CALL: ProgramCall = { program: '', args: [] };

interface Served extends TestRequest {
  readonly plugin: SourcePlugin;
}

async function served(behave?: Behaviour, kernel = 'nodev\tceph\n'): Promise<Served> {
  const requested = await createTestRequest(behave);
  const list = join(requested.base, 'filesystems');
  await writeFile(list, kernel);
  requested.secrets.set('default/ceph', testSecret('default', 'ceph', { key: KEY }));
  requested.secrets.set('storage/ceph', testSecret('storage', 'ceph', { key: 'b3RoZXI=' }));
  return { ...requested, plugin: createCephfs(list) };
}

interface Row {
  readonly title: string;
  readonly spec: Partial<CephFSPersistentVolumeSource>;
  readonly request?: Partial<SourceRequest>;
  readonly source: string;
  readonly options: readonly string[];
}

const FILE = 'secretfile=/etc/ceph/admin.secret';

const ROWS: readonly Row[] = [
  { title: 'defaults', spec: {}, source: '10.0.0.1:/', options: ['name=admin', FILE] },
  {
    title: 'several monitors, with and without ports',
    spec: { monitors: ['10.0.0.1:6789', 'mon.example.com', 'fd00::1'] },
    source: '10.0.0.1:6789,mon.example.com,[fd00::1]:/',
    options: ['name=admin', FILE],
  },
  {
    title: 'path',
    spec: { path: '/a/b' },
    source: '10.0.0.1:/a/b',
    options: ['name=admin', FILE],
  },
  {
    title: 'a path without slash',
    spec: { path: 'a' },
    source: '10.0.0.1:/a',
    options: ['name=admin', FILE],
  },
  {
    title: 'user, whose file it is',
    spec: { user: 'bob' },
    source: '10.0.0.1:/',
    options: ['name=bob', 'secretfile=/etc/ceph/bob.secret'],
  },
  {
    title: 'secretFile',
    spec: { secretFile: '/etc/ceph/key' },
    source: '10.0.0.1:/',
    options: ['name=admin', 'secretfile=/etc/ceph/key'],
  },
  {
    title: 'readOnly',
    spec: { readOnly: true },
    request: { mountOptions: ['noatime', 'rw'] },
    source: '10.0.0.1:/',
    options: ['name=admin', FILE, 'noatime', 'ro'],
  },
  {
    title: 'readOnly of the claim’s use',
    spec: {},
    request: { readOnly: true },
    source: '10.0.0.1:/',
    options: ['name=admin', FILE, 'ro'],
  },
];

const fieldsOf = (spec: Partial<CephFSPersistentVolumeSource>) => ({
  cephfs: { monitors: ['10.0.0.1'], ...spec },
});

describe('cephfs', () => {
  test.each(ROWS)('$title', async ({ spec, request, source, options }) => {
    await using requested = await served();
    const ready = await requested.setUp(requested.plugin, fieldsOf(spec), request);
    const [call = NO_CALL] = requested.calls;
    expect([call.program, call.args[0]]).toEqual(['mount.ceph', source]);
    expect(optionsOf(call)).toEqual(options);
    expect(ready.readOnly).toBe(options.includes('ro'));
  });

  it.each([
    ['of the pod’s namespace', { name: 'ceph' }, KEY],
    ['of the namespace that a PersistentVolume names', { name: 'ceph', namespace: 'storage' }, 'b3RoZXI='],
  ])(
    'passes the key of a secret %s in a file, which takes precedence over secretFile',
    async (_, secretRef, key) => {
      let seen: unknown;
      await using requested = await served(async (call) => {
        const path = optionsOf(call)[1]?.slice('secretfile='.length) ?? '';
        seen = { content: await readFile(path, 'utf8'), mode: (await stat(path)).mode & 0o7777 };
        return undefined;
      });
      await requested.setUp(requested.plugin, fieldsOf({ secretRef, secretFile: '/other' }));
      expect(seen).toEqual({ content: `${key}\n`, mode: 0o600 });
      expect(JSON.stringify(requested.calls)).not.toContain(key);
    },
  );

  const BY_FUSE = ['-m', '10.0.0.1', '--id', 'admin', '--keyfile', '/etc/ceph/admin.secret', '-r', '/'];

  it('uses FUSE if the kernel has no client', async () => {
    await using requested = await served(
      ({ program }) => (program === 'mount.ceph' ? { code: 32 } : undefined),
      '\text4\n',
    );
    await requested.setUp(requested.plugin, fieldsOf({ readOnly: true }));
    const dir = join(requested.base, 'cephfs', 'data');
    expect(requested.calls[1]).toEqual({ program: 'ceph-fuse', args: [...BY_FUSE, dir, '-o', 'ro'] });
  });

  it('uses FUSE if the kernel’s helper is not installed', async () => {
    await using requested = await served(({ program }) => {
      if (program === 'mount.ceph') throw new MissingProgramError(program);
      return undefined;
    });
    await requested.setUp(requested.plugin, fieldsOf({}));
    expect(requested.calls[1]?.args.slice(0, -1)).toEqual(BY_FUSE);
  });

  it('does not use FUSE after a failure of the kernel client', async () => {
    await using requested = await served(() => ({ code: 22, stderr: 'no mds server is up' }));
    await expect(requested.setUp(requested.plugin, fieldsOf({}))).rejects.toThrow('no mds server is up');
    expect(requested.calls).toHaveLength(1);
  });

  it('reports the first program if neither is installed', async () => {
    await using requested = await served(({ program }) => {
      throw new MissingProgramError(program);
    });
    await expect(requested.setUp(requested.plugin, fieldsOf({}))).rejects.toThrow(
      'the program mount.ceph is not installed on this node: install the Debian package ceph-common',
    );
  });

  it.each<[Partial<CephFSPersistentVolumeSource>, string]>([
    [{ monitors: [] }, 'cephfs.monitors'],
    [{ monitors: ['a,b'] }, 'cephfs.monitors'],
    [{ monitors: ['-o'] }, 'cephfs.monitors'],
    [{ path: '/a/../b' }, 'cephfs.path'],
    [{ user: 'a,secret=x' }, 'cephfs.user'],
    [{ secretFile: 'key' }, 'cephfs.secretFile'],
    [{ secretFile: '/etc/../key' }, 'cephfs.secretFile'],
    [{ secretFile: '/a,b' }, 'cephfs.secretFile'],
    [{ secretRef: {} }, 'secretRef.name'],
    [{ secretRef: { name: 'none' } }, 'Secret default/none not found'],
  ])('rejects %j', async (spec, field) => {
    await using requested = await served();
    await expect(requested.setUp(requested.plugin, fieldsOf(spec))).rejects.toThrow(field);
    expect(requested.calls).toEqual([]);
  });
});

describe('readCephKey', () => {
  const dataOf = (data: Readonly<Record<string, string>>): ReadonlyMap<string, Buffer> =>
    new Map(Object.entries(data).map(([key, text]) => [key, Buffer.from(text)]));

  it.each([[{ key: 'QQ==\n' }], [{ admin: 'QQ==' }], [{ key: 'QQ==', user: 'x' }]])('reads %j', (data) => {
    expect(readCephKey(dataOf(data), 's')).toBe('QQ==');
  });

  it.each([[{}], [{ a: 'QQ==', b: 'QQ==' }], [{ key: '' }], [{ key: 'QQ==\n[client.x]' }]])(
    'rejects %j',
    (data) => {
      expect(() => readCephKey(dataOf(data), 's')).toThrow('Secret s must have');
    },
  );
});
