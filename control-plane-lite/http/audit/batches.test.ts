import { describe, expect, test } from 'vitest';
import { createFakeClock } from '#api/kit/clock.ts';
import { type BatchOptions, createBatches } from './batches.ts';

const OPTIONS: BatchOptions = { bufferSize: 5, maxSize: 2, maxWaitMs: 100 };

function setUp(options: Partial<BatchOptions> = {}) {
  const clock = createFakeClock();
  const sent: (readonly string[])[] = [];
  const lost: number[] = [];
  const gates: PromiseWithResolvers<void>[] = [];
  const send = (lines: readonly string[]): Promise<void> => {
    sent.push(lines);
    const gate = Promise.withResolvers<void>();
    gates.push(gate);
    return gate.promise;
  };
  const batches = createBatches(
    { clock, send, onLost: (_error, count) => void lost.push(count) },
    { ...OPTIONS, ...options },
  );
  return { clock, batches, sent, lost, gates };
}

describe('createBatches', () => {
  test('sends full batches at once and others after their wait', async () => {
    const { clock, batches, sent } = setUp();
    for (const line of ['a', 'b', 'c']) expect(batches.add(line)).toBe(true);
    await clock.advance(99);
    expect(sent).toEqual([['a', 'b']]);
    await clock.advance(1);
    expect(sent).toEqual([['a', 'b'], ['c']]);
  });

  test('bounds the events that wait or are being sent', async () => {
    const { clock, batches, gates } = setUp();
    for (let index = 0; index < 5; index += 1) expect(batches.add('x')).toBe(true);
    expect(batches.add('x')).toBe(false);
    await clock.advance(100);
    gates[0]?.resolve();
    await clock.advance(0);
    expect([batches.add('x'), batches.add('x'), batches.add('x')]).toEqual([true, true, false]);
  });

  test('counts the events of a batch that was not delivered', async () => {
    const { batches, gates, lost, clock } = setUp();
    batches.add('a');
    batches.add('b');
    await clock.advance(0);
    gates[0]?.reject(new Error('away'));
    await clock.advance(0);
    expect(lost).toEqual([2]);
  });

  test('limits the rate of batches', async () => {
    const { clock, batches, sent } = setUp({
      bufferSize: 10,
      maxSize: 1,
      throttle: { perSecond: 10, burst: 2 },
    });
    for (let index = 0; index < 4; index += 1) batches.add('x');
    await clock.advance(0);
    expect(sent).toHaveLength(2);
    await clock.advance(100);
    expect(sent).toHaveLength(3);
    await clock.advance(100);
    expect(sent).toHaveLength(4);
  });

  test('the end waits for every event', async () => {
    const { batches, sent, gates } = setUp();
    batches.add('a');
    let isOver = false;
    const closing = batches.close().then(() => void (isOver = true));
    await new Promise((resolve) => setImmediate(resolve));
    expect([sent, isOver]).toEqual([[['a']], false]);
    gates[0]?.resolve();
    await closing;
  });
});
