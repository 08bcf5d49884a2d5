import { expect, test } from 'vitest';
import type { Pod } from '#api/schema/gen/core-v1.ts';
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
  const world = { lines, fault: 'gone', asked: 0 };
  const refresh = createVolumeRefresh({
    refreshPod: () => {
      world.asked += 1;
      return world.fault === '' ? Promise.resolve() : Promise.reject(new Error(world.fault));
    },
    log: { warn: note('W'), info: note('I'), debug: note('D') },
  });
  return { world, ...refresh };
}

test('a failure is a warning once for each pod and reason', async () => {
  const { world, refresh, forget } = createWorld();
  for (let round = 0; round < 100; round += 1) await refresh(pod('a'));
  await refresh(pod('b'));
  world.fault = 'other';
  await refresh(pod('a'));
  const warnings = (): readonly string[] => world.lines.filter((line) => line.startsWith('W'));
  expect(warnings()).toEqual([
    'W Failed to refresh volumes gone',
    'W Failed to refresh volumes gone',
    'W Failed to refresh volumes other',
  ]);
  forget('a');
  await refresh(pod('a'));
  expect(warnings()).toHaveLength(4);
});

test('success is logged after a failure only', async () => {
  const { world, refresh } = createWorld();
  await refresh(pod('a'));
  world.fault = '';
  await refresh(pod('a'));
  await refresh(pod('a'));
  expect(world.lines).toEqual(['W Failed to refresh volumes gone', 'I Volumes refreshed again']);
});

test('a pod that is being deleted is left alone', async () => {
  const { world, refresh } = createWorld();
  await refresh(pod('a', { deletionTimestamp: '2026-01-01T00:00:00Z' }));
  expect(world).toMatchObject({ asked: 0, lines: [] });
});
