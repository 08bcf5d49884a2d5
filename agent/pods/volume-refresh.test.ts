import { expect, test } from 'vitest';
import type { Pod } from '#api/gen/core-v1.ts';
import { createVolumeRefresh } from './volume-refresh.ts';

const pod = (uid: string, more: object = {}): Pod => ({
  metadata: { name: uid, namespace: 'n', uid, ...more },
});

function createWorld() {
  const lines: string[] = [];
  const note = (level: string) => (fields: object, message: string) => {
    const { err } = fields as { readonly err?: Error };
    lines.push([level, message, err?.message].filter((part) => part !== undefined).join(' '));
  };
  const world = { lines, error: 'gone', asked: 0, nowMs: 0 };
  const refresh = createVolumeRefresh({
    clock: { monotonic: () => world.nowMs },
    refreshPod: () => {
      world.asked += 1;
      return world.error === '' ? Promise.resolve() : Promise.reject(new Error(world.error));
    },
    log: { warn: note('W'), info: note('I'), debug: note('D') },
  });
  const warnings = (): readonly string[] => lines.filter((line) => !line.startsWith('D'));
  return { world, warnings, ...refresh };
}

test('a failure that lasts is a warning once for each pod and reason', async () => {
  const { world, warnings, refresh, forget } = createWorld();
  for (let round = 0; round < 100; round += 1) {
    await refresh(pod('a'));
    world.nowMs += 1000;
  }
  await refresh(pod('b'));
  world.error = 'other';
  await refresh(pod('a'));
  expect(warnings()).toEqual(['W Failed to refresh volumes gone']);
  world.nowMs += 5000;
  await refresh(pod('a'));
  expect(warnings()).toEqual(['W Failed to refresh volumes gone', 'W Failed to refresh volumes other']);
  forget('a');
  await refresh(pod('a'));
  world.nowMs += 5000;
  await refresh(pod('a'));
  expect(warnings()).toHaveLength(3);
});

test('a failure that passes, or that the end of the pod explains, is not worth a word', async () => {
  const { world, warnings, refresh } = createWorld();
  await refresh(pod('a'));
  world.nowMs += 60_000;
  await refresh(pod('a', { deletionTimestamp: '2026-01-01T00:00:00Z' }));
  world.error = '';
  await refresh(pod('a'));
  expect(warnings()).toEqual([]);
});

test('success is logged after a warning only', async () => {
  const { world, warnings, refresh } = createWorld();
  await refresh(pod('a'));
  world.nowMs += 5000;
  await refresh(pod('a'));
  world.error = '';
  await refresh(pod('a'));
  await refresh(pod('a'));
  expect(warnings()).toEqual(['W Failed to refresh volumes gone', 'I Volume refresh recovered']);
});

test('a pod that is being deleted is skipped', async () => {
  const { world, refresh } = createWorld();
  await refresh(pod('a', { deletionTimestamp: '2026-01-01T00:00:00Z' }));
  expect(world).toMatchObject({ asked: 0, lines: [] });
});
