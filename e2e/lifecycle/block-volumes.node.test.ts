/** Volumes in block mode as containers find them. */
import { readFile } from 'node:fs/promises';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { PersistentVolumeSpec } from '#api/gen/core-v1.ts';
import { createTestDisks, type TestDisks } from '#volumes/devices/disk.fixture.ts';
import { isReady } from '../../testing/agent.ts';
import { claimed, type Harness, pod, sh, startHarness, WAIT } from './support.ts';

describe('block volumes', () => {
  let harness: Harness;
  let disks: TestDisks;
  beforeAll(async () => {
    disks = await createTestDisks();
    harness = await startHarness();
  });
  afterAll(async () => {
    await harness[Symbol.asyncDispose]();
    await disks[Symbol.asyncDispose]();
  });

  test('are devices of the container, to read and write or to read only', async () => {
    const disk = await disks.disk(8);
    const spec: PersistentVolumeSpec = {
      volumeMode: 'Block',
      local: { path: disk.device },
    };
    for (const [index, text] of claimed('raw', spec).entries())
      await harness.agent.put(`raw-${index}.json`, text);
    await harness.agent.put(
      'block.json',
      pod('block', {
        volumes: [
          { name: 'disk', persistentVolumeClaim: { claimName: 'raw' } },
          { name: 'seen', persistentVolumeClaim: { claimName: 'raw', readOnly: true } },
        ],
        containers: [
          sh('writer', WAIT, { volumeDevices: [{ name: 'disk', devicePath: '/dev/xvda' }] }),
          sh('reader', WAIT, { volumeDevices: [{ name: 'seen', devicePath: '/dev/seen' }] }),
        ],
      }),
    );
    const found = await harness.agent.waitFor('block', isReady);
    await harness.exec(found, 'writer', 'echo written raw | dd of=/dev/xvda conv=fsync,notrunc');
    expect(await harness.exec(found, 'reader', 'head -c 11 /dev/seen')).toBe('written raw');
    expect((await readFile(disk.file)).subarray(0, 11).toString()).toBe('written raw');
    expect(await harness.exec(found, 'writer', 'test -b /dev/xvda && echo block')).toBe('block\n');
    await expect(harness.exec(found, 'reader', 'echo x | dd of=/dev/seen conv=notrunc')).rejects.toThrow(
      /not permitted/,
    );
  });
});
