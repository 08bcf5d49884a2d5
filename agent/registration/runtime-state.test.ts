import { describe, expect, test } from 'vitest';
import { createFakeClock } from '#api/kit/clock.ts';
import { silentLogger } from '#api/kit/logger.ts';
import { createRuntimeState, type RuntimeReport, runtimeTroubles } from './runtime-state.ts';

const condition = (type: string, status: boolean) => ({ type, status, reason: 'R', message: 'm' });
const report = (runtime: boolean, network: boolean): RuntimeReport => ({
  name: 'containerd',
  version: '1.6',
  conditions: [condition('RuntimeReady', runtime), condition('NetworkReady', network)],
});

describe('runtimeTroubles', () => {
  test.each([
    [report(true, true), []],
    [report(true, false), ['container runtime network not ready: NetworkReady=false reason:R message:m']],
    [
      report(false, false),
      [
        'container runtime not ready: RuntimeReady=false reason:R message:m',
        'container runtime network not ready: NetworkReady=false reason:R message:m',
      ],
    ],
    [
      { ...report(true, true), conditions: [condition('RuntimeReady', true)] },
      ['container runtime network not ready: NetworkReady is not reported'],
    ],
  ])('%j', (given, troubles) => {
    expect(runtimeTroubles(given)).toEqual(troubles);
  });
});

describe('createRuntimeState', () => {
  test('tolerates an unresponsive runtime for a while, and notifies of each change once', async () => {
    const clock = createFakeClock();
    let respond: () => Promise<RuntimeReport> = () => Promise.resolve(report(true, true));
    const state = createRuntimeState({ clock, log: silentLogger, read: () => respond() });
    let changes = 0;
    state.onChange(() => (changes += 1));
    expect(state.troubles()).toEqual(['container runtime status check may not have completed yet']);
    const stop = new AbortController();
    const running = state.run(stop.signal);
    await clock.advance(20_000);
    expect([state.troubles(), state.version(), changes]).toEqual([[], 'containerd://1.6', 1]);
    respond = () => Promise.reject(new Error('away'));
    await clock.advance(30_000);
    expect([state.troubles(), changes]).toEqual([[], 1]);
    await clock.advance(5000);
    expect([state.troubles(), changes]).toEqual([['container runtime is down'], 2]);
    respond = () => Promise.resolve(report(true, false));
    await clock.advance(5000);
    expect([state.troubles().length, changes]).toEqual([1, 3]);
    stop.abort();
    await running;
  });

  test('aborts a call that takes too long', async () => {
    const clock = createFakeClock();
    const read = (signal: AbortSignal) =>
      new Promise<RuntimeReport>((_, reject) => {
        signal.addEventListener('abort', () => reject(signal.reason as Error));
      });
    const state = createRuntimeState({ clock, log: silentLogger, read });
    const poll = state.poll(new AbortController().signal);
    await clock.advance(10_000);
    await poll;
    expect(state.version()).toBe('');
  });
});
