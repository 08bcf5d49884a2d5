import { expect, test } from 'vitest';
import { createFakeClock } from '#api/kit/clock.ts';
import type { ExecSyncResponse } from '#cri/gen/cri-v1.ts';
import type { ExecResult } from './exec.ts';
import { createExecCalls } from './exec-sync.ts';

const DONE: ExecSyncResponse = { exitCode: 0, stdout: new Uint8Array(0), stderr: new Uint8Array(0) };

function setup() {
  const clock = createFakeClock();
  const requests: object[] = [];
  const cancelled: number[] = [];
  const response = Promise.withResolvers<ExecSyncResponse>();
  const calls = createExecCalls({
    clock,
    runtime: {
      execSync(request, options) {
        requests.push(request);
        options?.signal?.addEventListener('abort', () => {
          cancelled.push(clock.monotonic());
          response.reject(new Error('cancelled'));
        });
        return response.promise;
      },
    },
  });
  const abort = new AbortController();
  const run = (timeoutMs = 1000): Promise<ExecResult> =>
    calls.execSync('c1', ['true'], timeoutMs, abort.signal);
  const isSetUp = async (): Promise<boolean> => {
    let yes = false;
    const onSetUp = (): void => {
      yes = true;
    };
    void calls.setUp().then(onSetUp);
    await clock.advance(0);
    return yes;
  };
  return { calls, clock, requests, cancelled, response, abort, run, isSetUp };
}

test.each([
  [0, 0n],
  [1, 1n],
  [1000, 1n],
  [1001, 2n],
])('a timeout of %i ms is sent as %i s', async (timeoutMs, timeout) => {
  const { run, requests, response } = setup();
  response.resolve(DONE);
  expect(await run(timeoutMs)).toBe(DONE);
  expect(requests).toEqual([{ containerId: 'c1', cmd: ['true'], timeout }]);
});

test('an abort rejects immediately, but the call continues', async () => {
  const { run, abort, cancelled, response, clock } = setup();
  const result = run();
  const reason = new Error('probing was stopped');
  abort.abort(reason);
  await expect(result).rejects.toBe(reason);
  await clock.advance(29_999);
  expect(cancelled).toEqual([]);
  response.resolve(DONE);
  await clock.advance(0);
  await clock.advance(60_000);
  expect(cancelled).toEqual([]);
});

test('an abandoned call is cancelled once its setup must be over', async () => {
  const { run, abort, cancelled, clock } = setup();
  const result = run();
  abort.abort(new Error('probing was stopped'));
  await expect(result).rejects.toThrow('probing was stopped');
  await clock.advance(30_000);
  expect(cancelled).toEqual([30_000]);
});

test('an aborted signal starts no call', async () => {
  const { run, abort, requests } = setup();
  abort.abort(new Error('too late'));
  await expect(run()).rejects.toThrow('too late');
  expect(requests).toEqual([]);
});

test('a failure reaches the caller', async () => {
  const { run, response } = setup();
  response.reject(new Error('no such container'));
  await expect(run()).rejects.toThrow('no such container');
});

test.each(['done', 'refused', 'old'] as const)('a call that is %s is not being set up', async (how) => {
  const { run, response, isSetUp, clock } = setup();
  expect(await isSetUp()).toBe(true);
  const result = run().catch(() => undefined);
  await clock.advance(399);
  expect(await isSetUp()).toBe(false);
  if (how === 'old') await clock.advance(1);
  else if (how === 'done') response.resolve(DONE);
  else response.reject(new Error('refused'));
  expect(await isSetUp()).toBe(true);
  response.resolve(DONE);
  await result;
});
