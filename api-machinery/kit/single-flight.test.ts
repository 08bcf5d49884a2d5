import { describe, expect, test } from 'vitest';
import { createSingleFlight } from './single-flight.ts';

/** Creates tasks that finish on demand. */
function setup() {
  const flights = createSingleFlight<string>();
  const starts: { readonly signal: AbortSignal; readonly end: PromiseWithResolvers<string> }[] = [];
  const task = (signal: AbortSignal): Promise<string> => {
    const end = Promise.withResolvers<string>();
    starts.push({ signal, end });
    return end.promise;
  };
  return { run: (key: string, signal?: AbortSignal) => flights.run(key, task, signal), starts };
}
const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

describe('createSingleFlight', () => {
  test('shares a task among callers of one key', async () => {
    const { run, starts } = setup();
    const results = [run('a'), run('a'), run('b')];
    await turn();
    expect(starts).toHaveLength(2);
    starts[0]?.end.resolve('A');
    starts[1]?.end.resolve('B');
    expect(await Promise.all(results)).toEqual(['A', 'A', 'B']);
  });

  test('starts again after success and failure', async () => {
    const { run, starts } = setup();
    const first = run('a');
    await turn();
    starts[0]?.end.reject(new Error('failed'));
    await expect(first).rejects.toThrow('failed');
    const second = run('a');
    await turn();
    starts[1]?.end.resolve('fine');
    expect(await second).toBe('fine');
  });

  test('cancels the task only when every caller has left', async () => {
    const { run, starts } = setup();
    const one = new AbortController();
    const two = new AbortController();
    const first = run('a', one.signal);
    const second = run('a', two.signal);
    await turn();
    one.abort(new Error('one left'));
    await expect(first).rejects.toThrow('one left');
    expect(starts[0]?.signal.aborted).toBe(false);
    two.abort(new Error('two left'));
    await expect(second).rejects.toThrow('two left');
    expect(starts[0]?.signal.aborted).toBe(true);
    const third = run('a');
    await turn();
    expect(starts).toHaveLength(2);
    starts[1]?.end.resolve('new');
    expect(await third).toBe('new');
  });

  test('starts nothing for a caller that is already gone', async () => {
    const { run, starts } = setup();
    await expect(run('a', AbortSignal.abort(new Error('gone')))).rejects.toThrow('gone');
    expect(starts).toHaveLength(0);
  });
});
