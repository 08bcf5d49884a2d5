import { expect, test } from 'vitest';
import { createListeners } from '#api/kit/listeners.ts';
import { silentLogger } from '#api/kit/logger.ts';
import type { RuntimeService, UpdateRuntimeConfigRequest } from '#cri/gen/cri-v1.ts';
import { runPodNetwork } from './pod-network.ts';

type State = 'connected' | 'away';

function setUp(first: readonly string[]) {
  const states = createListeners<[State]>('states');
  const changes = createListeners('ranges');
  const calls: string[] = [];
  const waiting: (() => void)[] = [];
  const ranges = { value: first };
  const updateRuntimeConfig = ({ runtimeConfig }: UpdateRuntimeConfigRequest) => {
    calls.push(runtimeConfig?.networkConfig?.podCidr ?? '');
    waiting.shift()?.();
    return Promise.resolve({});
  };
  const stop = new AbortController();
  const called = (): Promise<void> => new Promise((resolve) => waiting.push(resolve));
  const run = (adapt?: () => Promise<void>): Promise<void> =>
    runPodNetwork(
      {
        connection: {
          // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- no other call is used
          runtime: { updateRuntimeConfig } as Partial<RuntimeService> as RuntimeService,
          whenConnected: () => Promise.resolve(),
          onStateChange: (listener) => states.add(listener),
        },
        adapt,
        log: silentLogger,
      },
      { current: () => ranges.value, onChange: (listener) => changes.add(listener) },
      stop.signal,
    );
  return { states, changes, calls, ranges, stop, called, run };
}

test('the runtime gets the range, a changed one, and the same again after its restart', async () => {
  const { states, changes, calls, ranges, stop, called, run } = setUp(['10.1.0.0/24']);
  const first = called();
  const work = run();
  await first;
  const second = called();
  ranges.value = ['10.2.0.0/24', 'fd00::/64'];
  changes.notify();
  await second;
  const third = called();
  states.notify('away');
  states.notify('connected');
  await third;
  expect(calls).toEqual(['10.1.0.0/24', '10.2.0.0/24,fd00::/64', '10.2.0.0/24,fd00::/64']);
  stop.abort();
  await work;
  expect([states.size, changes.size]).toEqual([0, 0]);
});

test('without a range the runtime gets none, and the managed network is adapted nevertheless', async () => {
  const { calls, stop, run } = setUp([]);
  const adapted = Promise.withResolvers<void>();
  const work = run(() => Promise.resolve(adapted.resolve()));
  await adapted.promise;
  stop.abort();
  await work;
  expect(calls).toEqual([]);
});
