import { readFileSync } from 'node:fs';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import type { Volume } from '#api/gen/core-v1.ts';
import { type VolumeManager } from './contract/volume-manager.ts';
import { VolumeError } from './errors/volume-error.ts';
import { createSyscalls, SyscallError } from './files/syscalls.ts';
import { createTestHost, type TestHost, testPod } from './manage/host.fixture.ts';
import { createVolumeManager } from './manage/manager.ts';
import { createMounter, type Mounter } from './mount/mounter.ts';

const never = new AbortController().signal;
const base64 = (text: string): string => Buffer.from(text).toString('base64');

/** Returns system calls that fail from the `nth` one on, as if the agent had been killed there. */
function failingAt(nth: number): { readonly mounter: Mounter; readonly failed: () => boolean } {
  const real = createSyscalls();
  let calls = 0;
  const guard = async <T>(call: () => Promise<T>): Promise<T> => {
    calls += 1;
    if (calls >= nth) throw new SyscallError('killed', 4, 'here');
    return call();
  };
  return {
    failed: () => calls >= nth,
    mounter: createMounter({
      mount: (call) => guard(() => real.mount(call)),
      unmount: (target, flags) => guard(() => real.unmount(target, flags)),
      openat2: (fd, path, how) => guard(() => real.openat2(fd, path, how)),
    }),
  };
}

describe('an agent killed between any two system calls', () => {
  const volumes: Volume[] = [
    { name: 'd', emptyDir: {} },
    { name: 'm', emptyDir: { medium: 'Memory' } },
    { name: 's', secret: { secretName: 'key' } },
    { name: 'l', persistentVolumeClaim: { claimName: 'l' } },
  ];
  const pod = testPod('uid-1', volumes);

  async function createStage(): Promise<TestHost> {
    const t = await createTestHost();
    await mkdir(join(t.base, 'data'));
    await writeFile(join(t.base, 'data/f'), 'x');
    t.secrets.set('default/key', { data: { s: base64('x') } });
    t.claims.set('default/l', { metadata: { name: 'l' }, spec: { volumeName: 'pl' } });
    t.persistentVolumes.set('pl', {
      metadata: { name: 'pl' },
      spec: { local: { path: join(t.base, 'data') } },
    });
    return t;
  }

  const bindAll = async (manager: VolumeManager): Promise<void> => {
    const mounted = await manager.mountPod(pod, never);
    for (const volume of mounted.values()) {
      if (volume.readOnly) continue;
      const request = { podUID: 'uid-1', volume, containerName: 'app', mountIndex: 0, subPath: 'x/y' };
      await manager.prepareSubPath(request);
    }
  };

  test('has exactly the desired mounts after the next start, and none after the pod is gone', async () => {
    await using t = await createStage();
    let rounds = 0;
    for (let nth = 1; ; nth += 1) {
      const { mounter, failed } = failingAt(nth);
      const first = createVolumeManager(t.host, mounter);
      const ended: unknown = await bindAll(first).catch((thrown: unknown) => thrown);
      expect(ended === undefined || ended instanceof VolumeError).toBe(true);
      const killed = failed();
      const second = createVolumeManager(t.host);
      if (nth % 2 === 0) await bindAll(second);
      const count = (await t.mounts()).length;
      expect(nth % 2 === 1 || count === 6).toBe(true);
      await second.unmountPod('uid-1');
      expect(await t.mounts()).toHaveLength(0);
      expect(await second.podsOnDisk()).toEqual([]);
      rounds += 1;
      if (!killed) break;
    }
    expect(rounds).toBeGreaterThan(10);
    expect(readFileSync(join(t.base, 'data/f'), 'utf8')).toBe('x');
  });

  test('completes an interrupted teardown', async () => {
    await using t = await createStage();
    for (let nth = 1; ; nth += 1) {
      await bindAll(createVolumeManager(t.host));
      const { mounter, failed } = failingAt(nth);
      const ended: unknown = await createVolumeManager(t.host, mounter)
        .unmountPod('uid-1')
        .catch((thrown: unknown) => thrown);
      const reason = ended instanceof VolumeError ? ended.reason : ended;
      expect(reason).toBe(failed() ? 'FailedUnMount' : undefined);
      const manager = createVolumeManager(t.host);
      await manager.unmountPod('uid-1');
      expect(await t.mounts()).toHaveLength(0);
      expect(await manager.podsOnDisk()).toEqual([]);
      if (!failed()) break;
    }
    expect(readFileSync(join(t.base, 'data/f'), 'utf8')).toBe('x');
  });
});
