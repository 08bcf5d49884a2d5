import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it, test } from 'vitest';
import type { QuobyteVolumeSource } from '#api/gen/core-v1.ts';
import { VOCABULARIES } from '#api/vocabulary.ts';
import { commandOf, createTestRequest, mountInfo, type TestRequest } from '../network/request.fixture.ts';
import { quobyte, quobyteFolder, quobyteSource } from './quobyte.ts';

const SPEC = { registry: 'reg.example.com:7861', volume: 'vol1' };
const FOLDER = 'root#nfsnobody@vol1';
const { domain } = VOCABULARIES.plat;

/** Creates a client that exposes these directories. */
async function served(...folders: readonly string[]): Promise<TestRequest> {
  const requested = await createTestRequest(async ({ args }) => {
    const [, dir = ''] = args;
    for (const folder of folders) await mkdir(join(dir, folder), { recursive: true });
    requested.mounts.push(mountInfo(dir, 'fuse'));
    return { code: 0 };
  });
  return requested;
}

describe('quobyte', () => {
  it('mounts the client once, and binds the directory of volume, user and group', async () => {
    await using requested = await served(FOLDER, 'bob#staff@vol1');
    const ready = await requested.setUp(quobyte, { quobyte: SPEC });
    const other = await requested.setUp(
      quobyte,
      { quobyte: { ...SPEC, user: 'bob', group: 'staff', readOnly: true } },
      { dir: (dirName) => join(requested.base, dirName, 'other') },
    );
    expect(requested.calls.map((call) => commandOf(call, requested.base))).toEqual([
      'mount.quobyte reg.example.com:7861/ DIR/globalmount -o allow-usermapping-in-volumename',
    ]);
    expect([ready.readOnly, other.readOnly]).toEqual([false, true]);
    expect(requested.mounts.map(({ mountPoint }) => mountPoint.slice(requested.base.length))).toEqual([
      '/stage/globalmount',
      '/quobyte/data',
      '/quobyte/other',
    ]);
    const name = `${domain}/quobyte/reg.example.com:7861/,allow-usermapping-in-volumename`;
    expect(requested.staged).toEqual([name, name]);
  });

  it('binds once', async () => {
    await using requested = await served(FOLDER);
    await requested.setUp(quobyte, { quobyte: SPEC });
    await requested.setUp(quobyte, { quobyte: SPEC });
    expect(requested.mounts).toHaveLength(2);
  });

  it('has a separate client for each tenant and for other options', async () => {
    await using requested = await served(FOLDER);
    await requested.setUp(quobyte, { quobyte: { ...SPEC, tenant: 'a' } });
    await requested.setUp(quobyte, { quobyte: SPEC }, { mountOptions: ['noatime'] });
    expect(requested.staged).toEqual([
      `${domain}/quobyte/a@reg.example.com:7861/,allow-usermapping-in-volumename`,
      `${domain}/quobyte/reg.example.com:7861/,noatime,allow-usermapping-in-volumename`,
    ]);
  });

  it('reports a missing volume', async () => {
    await using requested = await served();
    await expect(requested.setUp(quobyte, { quobyte: SPEC })).rejects.toThrow('has no such volume');
  });

  it.each<[Partial<QuobyteVolumeSource>, string]>([
    [{ registry: '-o:1' }, 'quobyte.registry'],
    [{ registry: '' }, 'quobyte.registry'],
    [{ volume: '../x' }, 'quobyte.volume'],
    [{ volume: '' }, 'quobyte.volume'],
    [{ user: 'a#b' }, 'quobyte.user'],
    [{ group: 'a@b' }, 'quobyte.group'],
    [{ tenant: 'a/b' }, 'quobyte.tenant'],
  ])('rejects %j', async (spec, field) => {
    await using requested = await served(FOLDER);
    await expect(requested.setUp(quobyte, { quobyte: { ...SPEC, ...spec } })).rejects.toThrow(field);
    expect(requested.calls).toEqual([]);
  });
});

test('quobyteFolder and quobyteSource', () => {
  expect(quobyteFolder(SPEC)).toBe(FOLDER);
  expect(quobyteSource('a:1,b:2')).toBe('a:1,b:2/');
  expect(quobyteSource('a:1/')).toBe('a:1/');
});
