import { expect, test } from 'vitest';
import { createFakeClock } from '#api/kit/clock.ts';
import { silentLogger } from '#api/kit/logger.ts';
import type { Driver } from '#volumes/contract/csi.ts';
import { runVolumeHealth } from './volume-health.ts';

const turn = () => new Promise((resolve) => setImmediate(resolve));

async function setUp(...capabilities: readonly string[]) {
  const clock = createFakeClock();
  const events: string[] = [];
  const listeners = new Set<() => void>();
  const state = { measured: 0, abnormal: true, atMs: 0, has: new Set(capabilities) };
  const stop = new AbortController();
  const running = runVolumeHealth(
    {
      clock,
      log: silentLogger,
      drivers: {
        list: () => [{ capabilities: state.has as unknown as Driver['capabilities'] }],
        onChange(listener) {
          listeners.add(listener);
          return () => listeners.delete(listener);
        },
      },
      pods: () => [{ metadata: { name: 'p', uid: 'u' } }],
      async measure() {
        state.measured += 1;
        state.atMs = clock.now();
      },
      figuresOf: () => [
        { name: 'v', atMs: state.atMs, condition: { abnormal: state.abnormal, message: 'on fire' } },
        { name: 'old', atMs: 5, condition: { abnormal: true, message: 'long ago' } },
        { name: 'silent', atMs: clock.now() },
      ],
      event: ({ metadata }, type, reason, message) =>
        void events.push(`${metadata?.name} ${type} ${reason} ${message}`),
    },
    { periodMs: 60_000 },
    stop.signal,
  );
  await turn();
  return { clock, events, listeners, state, end: () => (stop.abort(new Error('over')), running) };
}

test('reports abnormal volumes in each round, and no normal ones', async () => {
  const { clock, events, state, end, listeners } = await setUp('VOLUME_CONDITION');
  const expected = 'p Warning VolumeConditionAbnormal Volume v: on fire';
  expect(events).toEqual([expected]);
  await clock.advance(60_000);
  expect(events).toEqual([expected, expected]);
  state.abnormal = false;
  await clock.advance(60_000);
  expect(events).toHaveLength(2);
  expect(state.measured).toBe(3);
  await end();
  expect(listeners.size).toBe(0);
});

test('measures nothing until a driver reports health', async () => {
  const { clock, events, state, listeners, end } = await setUp('GET_VOLUME_STATS');
  await clock.advance(600_000);
  expect(state.measured).toBe(0);
  state.has.add('VOLUME_CONDITION');
  for (const listener of listeners) listener();
  await turn();
  expect(events).toHaveLength(1);
  await end();
});
