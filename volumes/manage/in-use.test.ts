import { describe, expect, test } from 'vitest';
import { createFakeClock } from '#api/kit/clock.ts';
import { VOCABULARIES } from '#api/vocabulary.ts';
import { createUseTracker } from './in-use.ts';

const vocabulary = VOCABULARIES.plat;
const { signal } = new AbortController();
const csi = (volumeHandle: string) => ({ csi: { driver: 'd.example.com', volumeHandle } });
const nameOf = (handle: string): string => `${vocabulary.domain}/csi/d.example.com^${handle}`;

function setUp({
  onDisk = [],
  reportsVolumes = false,
}: {
  onDisk?: readonly string[];
  reportsVolumes?: boolean;
}) {
  const clock = createFakeClock();
  const tracker = createUseTracker({
    clock,
    vocabulary,
    reportsVolumes,
    podsOnDisk: () => Promise.resolve(onDisk),
  });
  let changes = 0;
  tracker.onChange(() => (changes += 1));
  return { clock, tracker, changes: () => changes };
}

describe('volumes in use', () => {
  test('are those that pods use, once each, until the last pod is gone', async () => {
    const { tracker, changes } = setUp({});
    await tracker.begin();
    const before = changes();
    await tracker.use('a', csi('2'), signal);
    await tracker.use('a', csi('1'), signal);
    await tracker.use('b', csi('1'), signal);
    await tracker.use('b', csi('1'), signal);
    await tracker.use('b', { iscsi: { targetPortal: 'p', iqn: 'q', lun: 0 } }, signal);
    expect(tracker.names([])).toEqual([nameOf('1'), nameOf('2'), `${vocabulary.domain}/iscsi/p:q:0`]);
    expect(changes() - before).toBe(4);
    tracker.release('b');
    expect(tracker.names([nameOf('9')])).toEqual([nameOf('1'), nameOf('2')]);
    tracker.release('a');
    tracker.release('a');
    expect(tracker.names([])).toEqual([]);
    expect(changes() - before).toBe(6);
  });

  test('include only attachable volumes', async () => {
    const { tracker, changes } = setUp({ reportsVolumes: true });
    await tracker.use('a', {}, signal);
    expect([tracker.names([]), changes()]).toEqual([[], 0]);
  });

  test('of an earlier run stay until all of its pods have been checked', async () => {
    const { tracker } = setUp({ onDisk: ['a', 'b', 'c'] });
    const reported = [nameOf('1'), nameOf('2')];
    expect(tracker.names(reported)).toEqual(reported);
    tracker.checked('c');
    await tracker.begin();
    await tracker.use('a', csi('2'), signal);
    await tracker.use('n', csi('0'), signal);
    tracker.checked('a');
    tracker.checked('n');
    expect(tracker.names(reported)).toEqual([nameOf('0'), ...reported]);
    tracker.release('b');
    expect(tracker.names(reported)).toEqual([nameOf('0'), nameOf('2')]);
  });

  test('are mounted once they have been reported', async () => {
    const { tracker } = setUp({ reportsVolumes: true });
    let mayMount = false;
    const waiting = tracker.use('a', csi('1'), signal).then(() => (mayMount = true));
    tracker.reported([nameOf('2')]);
    await Promise.resolve();
    expect([mayMount, tracker.names([])]).toEqual([false, [nameOf('1')]]);
    tracker.reported([nameOf('1')]);
    await waiting;
    // It has been reported by now.
    await tracker.use('b', csi('1'), signal);
    expect(mayMount).toBe(true);
  });

  test('are not mounted without a report, and are in use nevertheless', async () => {
    const { clock, tracker } = setUp({ reportsVolumes: true });
    await tracker.begin();
    const late = tracker.use('a', csi('1'), signal).catch((error: unknown) => error);
    await clock.advance(20_000);
    expect(await late).toMatchObject({ message: expect.stringContaining(nameOf('1')) as string });
    expect(tracker.names([])).toEqual([nameOf('1')]);
    const stop = new AbortController();
    const stopped = tracker.use('a', csi('1'), stop.signal).catch((error: unknown) => error);
    const reason = new Error('the pod is going');
    stop.abort(reason);
    expect(await stopped).toBe(reason);
  });
});

describe('attached volumes', () => {
  test('are awaited until the node’s status has them, and are in use before', async () => {
    const { tracker } = setUp({ reportsVolumes: true });
    await tracker.begin();
    const waiting = tracker.whenAttached('a', 'd.example/disk/1', signal);
    expect(tracker.names([])).toEqual(['d.example/disk/1']);
    tracker.attached([{ name: 'd.example/disk/2', devicePath: '/dev/b' }]);
    tracker.reported(['d.example/disk/1']);
    tracker.attached([{ name: 'd.example/disk/1', devicePath: '/dev/a' }]);
    expect(await waiting).toBe('/dev/a');
    tracker.attached([{ name: 'd.example/disk/1', devicePath: '' }]);
    expect(await tracker.whenAttached('b', 'd.example/disk/1', signal)).toBeUndefined();
  });

  test('are not awaited without attachment reports', async () => {
    const { tracker } = setUp({});
    expect(await tracker.whenAttached('a', 'd.example/disk/1', signal)).toBeUndefined();
    expect(tracker.names([])).toEqual(['d.example/disk/1']);
  });

  test('are reported by name on timeout', async () => {
    const { tracker, clock } = setUp({ reportsVolumes: true });
    const waiting = tracker.whenAttached('a', 'd.example/disk/1', signal);
    tracker.reported(['d.example/disk/1']);
    const failed = waiting.then(
      () => 'attached',
      (error: Error) => error.message,
    );
    await clock.advance(40_000);
    expect(await failed).toMatch('d.example/disk/1 is not attached to this node yet');
  });
});
