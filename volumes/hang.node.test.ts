import { describe, expect, test } from 'vitest';
import { createFakeClock } from '#api/kit/clock.ts';
import type { Volume } from '#api/schema/gen/core-v1.ts';
import { eventually } from '../testing/wait.ts';
import { PATIENCE_MS } from './attempts.ts';
import { createVolumeManager } from './manager.ts';
import { emptyDir } from './sources/empty-dir.ts';
import { defineSource } from './sources/source.ts';
import { createSourceTable } from './sources/table.ts';
import { createTestHost, testPod } from './test-host.ts';

const never = new AbortController().signal;
const stuck: Volume = { name: 'stuck', nfs: { server: 'gone', path: '/' } };
const memory: Volume = { name: 'm', emptyDir: { medium: 'Memory' } };

/** A source whose mounts hang as in the kernel: nothing ends them but `answer`. */
function createHanging() {
  const { promise, resolve } = Promise.withResolvers<void>();
  let mounts = 0;
  const nfs = defineSource('nfs', { summary: 'Hangs.', use: 'both' }, async (_, request) => {
    mounts += 1;
    await promise;
    return { hostPath: request.dir('nfs'), readOnly: false, seLinuxRelabel: false, changes: false };
  });
  return { sources: createSourceTable([nfs, emptyDir], []), answer: resolve, mounts: () => mounts };
}

const textOf = (work: Promise<unknown>): Promise<string> => work.then(() => 'done', String);

describe('a mount that hangs', () => {
  test('is told of at its pod, and every other pod comes and goes', async () => {
    await using t = await createTestHost();
    const clock = createFakeClock();
    const hanging = createHanging();
    const manager = createVolumeManager({ ...t.host, clock }, undefined, hanging);
    const mounting = textOf(manager.mountPod(testPod('p1', [memory, stuck]), never));
    await manager.mountPod(testPod('p2', [memory]), never);
    await manager.unmountPod('p2');
    await clock.advance(PATIENCE_MS);
    expect(await mounting).toBe(
      'VolumeError: volume "stuck": is not ready after 2 min 3 s; it is still being worked on',
    );
    const again = manager.mountPod(testPod('p1', [memory, stuck]), never);
    hanging.answer();
    expect([...(await again).keys()]).toEqual(['m', 'stuck']);
    expect(hanging.mounts()).toBe(1);
    await manager.unmountPod('p1');
  });

  test('keeps its own pod from going, says so, and lets it go in the end', async () => {
    await using t = await createTestHost();
    const clock = createFakeClock();
    const hanging = createHanging();
    const manager = createVolumeManager({ ...t.host, clock }, undefined, hanging);
    const mounting = textOf(manager.mountPod(testPod('p1', [stuck]), never));
    await eventually(() => hanging.mounts() === 1);
    const first = textOf(manager.unmountPod('p1'));
    await manager.mountPod(testPod('p2', [memory]), never);
    await clock.advance(PATIENCE_MS);
    expect(await first).toContain('not done after 2 min 3 s; still being mounted: stuck');
    const second = manager.unmountPod('p1');
    hanging.answer();
    await second;
    expect(await mounting).toContain('volume "stuck"');
    await manager.unmountPod('p2');
    expect(await t.mounts()).toEqual([]);
    expect(await manager.podsOnDisk()).toEqual([]);
  });
});
