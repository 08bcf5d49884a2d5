import { describe, expect, test } from 'vitest';
import { createFakeClock } from '#api/kit/clock.ts';
import type { RunProgram } from '../programs/contract.ts';
import { createApartMeasure, parseStatFs } from './apart.ts';
import type { MeasureVolume } from './contract.ts';
import type { Apart } from './protocol.ts';

const far = (name: string, device = '0:9'): Apart => ({
  podUID: 'u',
  of: 'volume',
  name,
  source: 'x~nfs',
  path: `/v/x~nfs/${name}`,
  mount: { point: `/v/x~nfs/${name}`, device },
});
const driven: Apart = { ...far('d'), source: 'x~csi', path: '/v/x~csi/d' };
const never = (): Promise<never> => new Promise(() => undefined);
const respond: RunProgram = () => Promise.resolve({ code: 0, stdout: '10 9 5 6 4 3\n', stderr: '' });
const { signal } = new AbortController();

function setUp(run: RunProgram, csi?: MeasureVolume) {
  const clock = createFakeClock();
  const messages: string[] = [];
  const note = (_: unknown, message?: string): void => void messages.push(message ?? '');
  const calls: (readonly string[])[] = [];
  const measure = createApartMeasure({
    clock,
    log: { info: note, warn: note },
    run: (program, args, options) => {
      calls.push([program, ...args]);
      return run(program, args, options);
    },
    drivers: new Map(csi === undefined ? [] : [['csi', csi]]),
  });
  return { clock, messages, calls, measure };
}

describe('createApartMeasure', () => {
  test('measures a file system with a program, once for all volumes on it', async () => {
    const { measure, calls } = setUp(respond);
    const round = measure.begin();
    const [one, two] = await Promise.all([round.measure(far('a'), signal), round.measure(far('b'), signal)]);
    expect(one).toEqual({
      podUID: 'u',
      of: 'volume',
      name: 'a',
      source: 'x~nfs',
      isOwnFs: true,
      usedBytes: 30,
      inodesUsed: 1,
      space: { capacityBytes: 90, availableBytes: 50, inodes: 4, inodesFree: 3 },
    });
    expect(two).toMatchObject({ name: 'b', usedBytes: 30 });
    expect(calls).toEqual([['stat', '--file-system', '--format=%S %b %a %f %c %d', '--', '/v/x~nfs/a']]);
    await round.measure(far('c', '0:10'), signal);
    expect(calls).toHaveLength(2);
  });

  test('waits at most some seconds for a volume, and reports its unavailability once', async () => {
    let run: RunProgram = never;
    const { measure, clock, messages } = setUp((...args) => run(...args));
    for (let round = 0; round < 2; round += 1) {
      const asking = measure.begin().measure(far('a'), signal);
      await clock.advance(0);
      await clock.advance(10_000);
      expect(await asking).toBeUndefined();
    }
    run = respond;
    expect(await measure.begin().measure(far('a'), signal)).toMatchObject({ usedBytes: 30 });
    expect(messages).toEqual([
      'Volume usage unavailable; statistics are out of date',
      'Volume usage available again',
    ]);
  });

  test('has no statistics from a program that fails', async () => {
    const { measure } = setUp(() => Promise.resolve({ code: 1, stdout: '', stderr: 'Stale file handle\n' }));
    expect(await measure.begin().measure(far('a'), signal)).toBeUndefined();
  });

  test('calls the driver of the source first', async () => {
    const condition = { abnormal: true, message: 'lost' };
    const { measure, calls } = setUp(respond, ({ volumeName }) =>
      Promise.resolve(volumeName === 'd' ? { usedBytes: 1, capacityBytes: 2, condition } : undefined),
    );
    expect(measure.asked).toEqual(['csi']);
    const round = measure.begin();
    expect(await round.measure(driven, signal)).toMatchObject({
      usedBytes: 1,
      space: { capacityBytes: 2 },
      condition,
    });
    expect(calls).toEqual([]);
    expect(await round.measure({ ...driven, name: 'e' }, signal)).toMatchObject({ usedBytes: 30 });
    expect(await round.measure({ ...driven, name: 'e', mount: undefined }, signal)).toBeUndefined();
  });
});

describe('parseStatFs', () => {
  test.each(['', '1 2 3 4 5', '1 2 3 4 5 x', '1 2 3 4 5 6 7'])('rejects %j', (text) => {
    expect(() => parseStatFs(text)).toThrow(RangeError);
  });
});
