import { describe, expect, test } from 'vitest';
import type { Volume } from '#api/gen/core-v1.ts';
import { createFakeClock } from '#api/kit/clock.ts';
import { eventually } from '../testing/wait.ts';
import { defineSource } from './contract/source.ts';
import { TIMEOUT_MS } from './manage/attempts.ts';
import { createTestHost, testPod } from './manage/host.fixture.ts';
import { createVolumeManager } from './manage/manager.ts';
import { emptyDir } from './sources/empty-dir.ts';
import { createSourceTable } from './sources/table.ts';

const never = new AbortController().signal;
const stuck: Volume = { name: 'stuck', nfs: { server: 'gone', path: '/' } };
const memory: Volume = { name: 'm', emptyDir: { medium: 'Memory' } };

/** Creates a source whose mounts hang as in the kernel: only `release` ends them. */
function createHanging() {
  const { promise, resolve } = Promise.withResolvers<void>();
  let mounts = 0;
  const nfs = defineSource('nfs', { summary: 'Hangs.', use: 'both' }, async (_, request) => {
    mounts += 1;
    await promise;
    return { hostPath: request.dir('nfs'), readOnly: false, seLinuxRelabel: false, changes: false };
  });
  return { sources: createSourceTable([nfs, emptyDir], []), release: resolve, mounts: () => mounts };
}

const textOf = (work: Promise<unknown>): Promise<string> => work.then(() => 'done', String);

describe('a mount that hangs', () => {
  test('is reported on its pod, and does not affect other pods', async () => {
    await using t = await createTestHost();
    const clock = createFakeClock();
    const hanging = createHanging();
    const manager = createVolumeManager({ ...t.host, clock }, undefined, hanging);
    const mounting = textOf(manager.mountPod(testPod('p1', [memory, stuck]), never));
    await manager.mountPod(testPod('p2', [memory]), never);
    await manager.unmountPod('p2');
    await clock.advance(TIMEOUT_MS);
    expect(await mounting).toBe(
      'VolumeError: volume "stuck": is not ready after 2 min 3 s; setup continues in the background',
    );
    const again = manager.mountPod(testPod('p1', [memory, stuck]), never);
    hanging.release();
    expect([...(await again).keys()]).toEqual(['m', 'stuck']);
    expect(hanging.mounts()).toBe(1);
    await manager.unmountPod('p1');
  });

  test('delays the removal of its own pod, reports it, and finally releases it', async () => {
    await using t = await createTestHost();
    const clock = createFakeClock();
    const hanging = createHanging();
    const manager = createVolumeManager({ ...t.host, clock }, undefined, hanging);
    const mounting = textOf(manager.mountPod(testPod('p1', [stuck]), never));
    await eventually(() => hanging.mounts() === 1);
    const first = textOf(manager.unmountPod('p1'));
    await manager.mountPod(testPod('p2', [memory]), never);
    await clock.advance(TIMEOUT_MS);
    expect(await first).toContain('not finished after 2 min 3 s; still being mounted: stuck');
    const second = manager.unmountPod('p1');
    hanging.release();
    await second;
    expect(await mounting).toContain('volume "stuck"');
    await manager.unmountPod('p2');
    expect(await t.mounts()).toEqual([]);
    expect(await manager.podsOnDisk()).toEqual([]);
  });
});
