import { describe, expect, test } from 'vitest';
import { createFakeClock } from './clock.ts';
import type { Logger } from './logger.ts';
import { silentLogger } from './logger.ts';
import { createWaits, formatWait } from './waits.ts';

function setUp() {
  const clock = createFakeClock(0);
  const lines: string[] = [];
  const keep = (fields: object, message: string): void =>
    void lines.push(`${message} ${JSON.stringify(fields)}`);
  const log: Logger = { ...silentLogger, warn: keep, info: keep };
  let changes = 0;
  const waits = createWaits({ clock, log });
  waits.onChange(() => (changes += 1));
  return { clock, lines, waits, changes: () => changes };
}

describe('waits', () => {
  test('a short one leaves no trace', async () => {
    const { clock, lines, waits, changes } = setUp();
    const wait = waits.begin('store');
    await clock.advance(4999);
    expect(waits.lasting()).toEqual([]);
    wait.end();
    await clock.advance(60_000);
    expect([lines, changes()]).toEqual([[], 0]);
  });

  test('a long one is logged once, listed with its newest reason, and logged when it is resolved', async () => {
    const { clock, lines, waits, changes } = setUp();
    const wait = waits.begin('runtime', 'first');
    wait.because('no socket');
    await clock.advance(5000);
    expect(lines).toEqual([
      'Still waiting {"waitingFor":"runtime","since":"1970-01-01T00:00:00.000Z","reason":"no socket"}',
    ]);
    wait.because('refused');
    wait.because('refused');
    await clock.advance(7500);
    expect(waits.lasting()).toEqual([{ what: 'runtime', sinceMs: 0, why: 'refused' }]);
    expect(changes()).toBe(2);
    wait.end();
    wait.end();
    wait.because('too late');
    expect(lines.slice(1)).toEqual(['Wait resolved {"waitingFor":"runtime","afterSeconds":12.5}']);
    expect([waits.lasting(), changes()]).toEqual([[], 3]);
  });

  test('a reason that becomes known later is logged too', async () => {
    const { clock, lines, waits } = setUp();
    const wait = waits.begin('etcd');
    await clock.advance(10_000);
    wait.because('refused');
    wait.because('timed out');
    expect(lines.map((line) => /"reason":"(.*)"/.exec(line)?.[1])).toEqual([undefined, 'refused']);
  });

  test('a wait logged by its owner is listed nevertheless', async () => {
    const { clock, lines, waits } = setUp();
    const wait = waits.begin('API server', 'refused', { logged: true });
    await clock.advance(5000);
    expect(waits.lasting()).toHaveLength(1);
    wait.end();
    expect(lines).toEqual([]);
  });

  test('several of one name are listed as one, as long as any of them lasts', async () => {
    const { clock, lines, waits } = setUp();
    const first = waits.begin('mount');
    await clock.advance(3000);
    const second = waits.begin('mount');
    await clock.advance(5000);
    expect(waits.lasting()).toEqual([{ what: 'mount', sinceMs: 0, why: '' }]);
    first.end();
    expect(waits.lasting()).toHaveLength(1);
    second.end();
    expect([waits.lasting(), lines.length]).toEqual([[], 2]);
  });

  test('many short ones of one name, sequential and concurrent, are not a long one', async () => {
    const { clock, lines, waits } = setUp();
    let last = waits.begin('call');
    for (let round = 0; round < 20; round += 1) {
      const next = waits.begin('call');
      await clock.advance(1000);
      last.end();
      last = next;
    }
    expect([waits.lasting(), lines]).toEqual([[], []]);
  });

  test('a throwing listener does not affect others', async () => {
    const { clock, waits } = setUp();
    const called: string[] = [];
    waits.onChange(() => {
      throw new Error('listener');
    });
    waits.onChange(() => called.push('again'));
    waits.begin('a');
    await clock.advance(5000);
    expect(called).toEqual(['again']);
  });

  test('a wait for work ends with its success and its failure', async () => {
    const { clock, lines, waits } = setUp();
    const work = Promise.withResolvers<number>();
    const waited = waits.during('work', work.promise);
    await clock.advance(6000);
    expect(waits.lasting()).toHaveLength(1);
    work.reject(new Error('broken'));
    await expect(waited).rejects.toThrow('broken');
    expect(waits.lasting()).toEqual([]);
    expect(lines.at(-1)).toBe('Wait failed {"waitingFor":"work","afterSeconds":6,"reason":"broken"}');
    await expect(waits.during('more', Promise.resolve(1))).resolves.toBe(1);
  });

  test('ends with the program, without a log line or a timer', async () => {
    const { clock, lines, waits } = setUp();
    const early = waits.begin('a');
    await clock.advance(6000);
    const late = waits.begin('b');
    waits.close();
    waits.begin('c');
    early.end();
    late.because('why');
    await clock.advance(60_000);
    expect([lines.length, waits.lasting()]).toEqual([1, []]);
  });

  test('the oldest comes first', async () => {
    const { clock, waits } = setUp();
    waits.begin('a');
    await clock.advance(1000);
    waits.begin('b');
    await clock.advance(9000);
    expect(waits.lasting().map(({ what }) => what)).toEqual(['a', 'b']);
    expect(waits.lasting().map((wait) => formatWait(wait, clock.now()))).toEqual(['a (10 s)', 'b (9 s)']);
    expect(formatWait({ what: 'c', sinceMs: 0, why: 'd' }, 1499)).toBe('c (1 s): d');
  });
});
