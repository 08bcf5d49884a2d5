import { execFile } from 'node:child_process';
import { mkdir, readdir, readFile, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { describe, expect, test } from 'vitest';
import type { PersistentVolume, Pod } from '#api/gen/core-v1.ts';
import { createTempDir } from '../../../testing/temp.ts';
import { decideRecycler, recyclerName, recyclerSpec, volumeOfRecycler } from './reclaim.ts';
import { removePath } from './remove-path.ts';

const volume = (spec: PersistentVolume['spec'] = {}): PersistentVolume => ({
  metadata: { name: 'v' },
  spec: { hostPath: { path: '/tmp/x' }, capacity: { storage: '1Gi' }, ...spec },
});

const podOf = (of: PersistentVolume, status: Pod['status'] = {}, metadata: Pod['metadata'] = {}): Pod => ({
  metadata,
  spec: recyclerSpec(of),
  status,
});

describe('decideRecycler', () => {
  test.each<[string, Pod | undefined, string]>([
    ['none', undefined, 'create'],
    ['a running one', podOf(volume(), { phase: 'Running' }), 'wait'],
    ['a new one', podOf(volume()), 'wait'],
    ['one that is being deleted', podOf(volume(), {}, { deletionTimestamp: '2026-01-01T00:00:00Z' }), 'wait'],
    [
      'one of another path',
      podOf(volume({ hostPath: { path: '/tmp/y' } }), { phase: 'Succeeded' }),
      'replace',
    ],
    ['a succeeded one', podOf(volume(), { phase: 'Succeeded' }), 'succeeded'],
    ['a failed one', podOf(volume(), { phase: 'Failed', message: 'late' }), 'failed'],
  ])('with %s', (_, pod, kind) => {
    expect(decideRecycler(pod, volume()).kind).toBe(kind);
  });

  test.each<[PersistentVolume, number]>([
    [volume(), 60],
    [volume({ capacity: { storage: '10Gi' } }), 300],
    [{ spec: { nfs: { server: 's', path: '/p' }, capacity: { storage: '1Gi' } } }, 300],
  ])('limits the time by the size: %#', (given, seconds) => {
    expect(recyclerSpec(given).activeDeadlineSeconds).toBe(seconds);
  });

  test('the pod runs where the volume is', () => {
    const required = {
      nodeSelectorTerms: [{ matchExpressions: [{ key: 'a', operator: 'Exists' as const }] }],
    };
    const { affinity } = recyclerSpec(volume({ nodeAffinity: { required } }));
    expect(affinity?.nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution).toEqual(required);
  });

  test('names lead back to the volume', () => {
    expect(volumeOfRecycler('default', recyclerName('v'))).toBe('v');
    expect(volumeOfRecycler('other', recyclerName('v'))).toBeUndefined();
    expect(volumeOfRecycler('default', 'web')).toBeUndefined();
  });

  test('the script of the pod removes everything, hidden files too', async () => {
    await using dir = await createTempDir();
    const scrub = join(dir.path, 'scrub');
    await mkdir(join(scrub, '.hidden'), { recursive: true });
    for (const name of ['..a', '.b', 'c', '.hidden/d']) await writeFile(join(scrub, name), '');
    const script = recyclerSpec(volume()).containers[0]?.args?.[1] ?? '';
    await promisify(execFile)('/bin/sh', ['-c', script.replaceAll('/scrub', scrub)]);
    expect(await readdir(scrub)).toEqual([]);
  });
});

describe('removePath', () => {
  test('removes a tree, and is idempotent', async () => {
    await using dir = await createTempDir();
    const path = join(dir.path, 'a');
    await mkdir(join(path, 'b/c'), { recursive: true });
    await writeFile(join(path, 'b/c/f'), '');
    await removePath(path);
    await removePath(path);
    await removePath(join(path, 'x/y'));
    expect(await readdir(dir.path)).toEqual([]);
  });

  test('follows no link, neither inside nor on the way', async () => {
    await using dir = await createTempDir();
    const outside = join(dir.path, 'outside');
    await mkdir(join(outside, 'sub'), { recursive: true });
    await writeFile(join(outside, 'sub/f'), 'kept');
    await mkdir(join(dir.path, 'a'));
    await symlink(outside, join(dir.path, 'a/link'));
    await symlink(outside, join(dir.path, 'way'));
    await removePath(join(dir.path, 'a'));
    await expect(removePath(join(dir.path, 'way/sub'))).rejects.toMatchObject({ code: 'ENOTDIR' });
    expect(await readFile(join(outside, 'sub/f'), 'utf8')).toBe('kept');
  });
});
