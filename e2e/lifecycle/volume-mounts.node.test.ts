/** Mounts in containers: propagation in both directions, read-only claims, and the group that owns the
 *  content of a claim. */
import { execFileSync } from 'node:child_process';
import { mkdir, readFile, realpath, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { VolumeMount } from '#api/gen/core-v1.ts';
import { isReady } from '../../testing/agent.ts';
import { createTempDir, type TempDir } from '../../testing/temp.ts';
import { claimed, type Harness, pod, sh, startHarness, WAIT } from './support.ts';

describe('mounts of volumes', () => {
  let harness: Harness;
  let temp: TempDir;
  /** The root of a shared mount, which propagates the mounts in it. */
  let shared: string;

  beforeAll(async () => {
    temp = await createTempDir('na-vm-');
    shared = join(await realpath(temp.path), 'shared');
    await mkdir(shared);
    execFileSync('mount', ['-t', 'tmpfs', 'tmpfs', shared]);
    execFileSync('mount', ['--make-shared', shared]);
    harness = await startHarness();
  });
  afterAll(async () => {
    await harness[Symbol.asyncDispose]();
    execFileSync('umount', ['-R', '-l', shared]);
    await temp[Symbol.asyncDispose]();
  });

  const hostDir = async (name: string): Promise<string> => {
    const path = join(shared, name);
    await mkdir(path, { recursive: true });
    return path;
  };
  const tmpfsAt = async (path: string): Promise<void> => {
    await mkdir(path, { recursive: true });
    execFileSync('mount', ['-t', 'tmpfs', 'tmpfs', path]);
    await writeFile(join(path, 'seen'), 'yes');
  };
  const at = (
    mountPath: string,
    more: Partial<VolumeMount> = {},
  ): { readonly volumeMounts: VolumeMount[] } => ({
    volumeMounts: [{ name: 'v', mountPath, ...more }],
  });

  test('what is mounted on the host later is seen with HostToContainer, and without it not', async () => {
    const path = await hostDir('later');
    await harness.agent.put(
      'later.json',
      pod('later', {
        volumes: [{ name: 'v', hostPath: { path } }],
        containers: [
          sh('none', WAIT, at('/v')),
          sh('slave', WAIT, at('/v', { mountPropagation: 'HostToContainer' })),
        ],
      }),
    );
    const found = await harness.agent.waitFor('later', isReady);
    await tmpfsAt(join(path, 'm'));
    expect(await harness.exec(found, 'slave', 'cat /v/m/seen')).toBe('yes');
    await expect(harness.exec(found, 'none', 'cat /v/m/seen')).rejects.toThrow(/No such file/);
    // Nothing propagates in the other direction.
    expect(await harness.exec(found, 'slave', 'grep -c " /v" /proc/self/mountinfo')).toBe('2\n');
  });

  test('what a container mounts is seen by the host and by other containers with Bidirectional', async () => {
    const path = await hostDir('both');
    await harness.agent.put(
      'both.json',
      pod('both', {
        volumes: [{ name: 'v', hostPath: { path } }],
        containers: [
          sh('maker', WAIT, {
            securityContext: { privileged: true },
            ...at('/v', { mountPropagation: 'Bidirectional' }),
          }),
          sh('slave', WAIT, at('/v', { mountPropagation: 'HostToContainer' })),
          sh('none', WAIT, { securityContext: { privileged: true }, ...at('/v') }),
        ],
      }),
    );
    const found = await harness.agent.waitFor('both', isReady);
    const mountIn = (container: string, name: string): Promise<string> =>
      harness.exec(
        found,
        container,
        `mkdir -p /v/${name} && mount -t tmpfs t /v/${name} && echo -n ${container} > /v/${name}/by`,
      );
    await mountIn('maker', 'm');
    expect(await readFile(join(path, 'm/by'), 'utf8')).toBe('maker');
    expect(await harness.exec(found, 'slave', 'cat /v/m/by')).toBe('maker');
    await mountIn('none', 'own');
    await expect(readFile(join(path, 'own/by'))).rejects.toThrow(/ENOENT/);
  });

  test('a claim for reading only can be written nowhere, nor in what is mounted beneath it', async () => {
    const path = await hostDir('data');
    await tmpfsAt(join(path, 'sub'));
    await writeFile(join(path, 'file'), 'text');
    for (const [index, text] of claimed('reads', { local: { path } }).entries())
      await harness.agent.put(`reads-${index}.json`, text);
    await harness.agent.put(
      'reads.json',
      pod('reads', {
        volumes: [{ name: 'v', persistentVolumeClaim: { claimName: 'reads', readOnly: true } }],
        containers: [sh('c', WAIT, at('/v', { mountPropagation: 'HostToContainer' }))],
      }),
    );
    const found = await harness.agent.waitFor('reads', isReady);
    expect(await harness.exec(found, 'c', 'cat /v/file')).toBe('text');
    for (const name of ['new', 'file', 'sub/new'])
      await expect(harness.exec(found, 'c', `echo x > /v/${name}`)).rejects.toThrow(/Read-only file system/);
  });

  test('fsGroup owns the content of a claim; with OnRootMismatch a matching root is trusted', async () => {
    const path = await hostDir('group');
    await writeFile(join(path, 'old'), 'text', { mode: 0o600 });
    for (const [index, text] of claimed('group', { local: { path } }).entries())
      await harness.agent.put(`group-${index}.json`, text);
    const run = async (
      name: string,
      fsGroupChangePolicy: 'OnRootMismatch' | 'Always',
    ): Promise<readonly number[]> => {
      await harness.agent.put(
        `${name}.json`,
        pod(name, {
          securityContext: { runAsUser: 1000, runAsGroup: 1000, fsGroup: 4711, fsGroupChangePolicy },
          volumes: [{ name: 'v', persistentVolumeClaim: { claimName: 'group' } }],
          containers: [sh('c', WAIT, at('/v'))],
        }),
      );
      const found = await harness.agent.waitFor(name, isReady);
      await harness.exec(found, 'c', `cat /v/old && echo ${name} > /v/by-${name}`);
      const { gid } = await stat(join(path, `by-${name}`));
      return [(await stat(join(path, 'old'))).gid, gid];
    };
    expect(await run('one', 'OnRootMismatch')).toEqual([4711, 4711]);
    execFileSync('chown', ['0:0', join(path, 'old')]);
    execFileSync('chmod', ['0644', join(path, 'old')]);
    expect(await run('two', 'OnRootMismatch')).toEqual([0, 4711]);
    expect(await run('three', 'Always')).toEqual([4711, 4711]);
  });
});
