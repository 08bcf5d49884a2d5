import { describe, expect, test } from 'vitest';
import type { Event, ObjectReference } from '#api/gen/core-v1.ts';
import { createFakeClock, type FakeClock } from '#api/kit/clock.ts';
import { silentLogger } from '#api/kit/logger.ts';
import { VOCABULARIES } from '#api/vocabulary.ts';
import { createCorrelator, UPSTREAM_LIMITS } from './correlate.ts';
import { createEventRecorder, type EventRecorder } from './recorder.ts';

const web: ObjectReference = { kind: 'Pod', namespace: 'default', name: 'web-n1', uid: 'u1' };

function createParts(): { clock: FakeClock; recorder: EventRecorder; seen: Event[] } {
  const clock = createFakeClock();
  const seen: Event[] = [];
  const recorder = createEventRecorder({
    clock,
    log: silentLogger,
    node: 'n1',
    vocabulary: VOCABULARIES.plat,
  });
  recorder.onEvent((event) => seen.push(event));
  return { clock, recorder, seen };
}

describe('createEventRecorder', () => {
  test('creates a complete core/v1 event', () => {
    const { recorder } = createParts();
    recorder.event(web, 'Normal', 'Pulled', 'Image was pulled');
    expect(recorder.list()).toEqual([
      {
        apiVersion: 'v1',
        kind: 'Event',
        metadata: { name: expect.stringMatching(/^web-n1\.[0-9a-f]{16}$/u) as unknown, namespace: 'default' },
        involvedObject: web,
        reason: 'Pulled',
        message: 'Image was pulled',
        source: { component: 'nodeagent', host: 'n1' },
        firstTimestamp: '2023-11-14T22:13:20.000Z',
        lastTimestamp: '2023-11-14T22:13:20.000Z',
        count: 1,
        type: 'Normal',
      },
    ]);
  });

  test('counts a repeat, retains its name and first time, updates the last time', async () => {
    const { clock, recorder, seen } = createParts();
    recorder.event(web, 'Warning', 'BackOff', 'restarting');
    await clock.advance(10_000);
    recorder.event(web, 'Warning', 'BackOff', 'restarting');
    const [event] = recorder.list();
    expect(recorder.list()).toHaveLength(1);
    expect(event).toMatchObject({
      count: 2,
      firstTimestamp: '2023-11-14T22:13:20.000Z',
      lastTimestamp: '2023-11-14T22:13:30.000Z',
    });
    expect(event?.metadata.name).toBe(seen[0]?.metadata.name);
    expect(seen).toHaveLength(2);
  });

  test('combines the tenth different message of one reason, and resets after ten quiet minutes', async () => {
    const { clock, recorder } = createParts();
    for (let i = 0; i < 12; i += 1) recorder.event(web, 'Warning', 'Failed', `attempt ${i}`);
    const combined = recorder.list().filter((event) => event.message?.startsWith('(combined') === true);
    expect(recorder.list()).toHaveLength(10);
    expect(combined).toHaveLength(1);
    expect(combined[0]).toMatchObject({ count: 3, message: '(combined from similar events): attempt 11' });
    await clock.advance(600_001);
    recorder.event(web, 'Warning', 'Failed', 'attempt later');
    expect(recorder.list().at(-1)?.message).toBe('attempt later');
  });

  test('limits an object to a burst of 25 events, then one per 5 minutes, independent of other objects', async () => {
    const { clock, recorder, seen } = createParts();
    for (let i = 0; i < 100; i += 1) recorder.event(web, 'Normal', `Reason${i}`, 'same');
    expect(seen).toHaveLength(25);
    recorder.event({ ...web, name: 'other', uid: 'u2' }, 'Normal', 'Started', 'ok');
    expect(seen).toHaveLength(26);
    await clock.advance(300_000);
    recorder.event(web, 'Normal', 'ReasonA', 'same');
    recorder.event(web, 'Normal', 'ReasonB', 'same');
    expect(seen.at(-1)?.reason).toBe('ReasonA');
  });

  test('evicts the state of quiet objects', () => {
    const sizes: number[] = [];
    const correlator = createCorrelator({ ...UPSTREAM_LIMITS, maxKeys: 8 }, (size) => sizes.push(size));
    const see = (object: string, nowMs: number): void =>
      void correlator.correlate({ groupKey: object, objectKey: object, message: 'm' }, nowMs);
    for (let i = 0; i < 20; i += 1) see(`o${i}`, i);
    expect(Math.max(...sizes)).toBe(8);
    see('later', 600_030);
    expect(sizes.slice(-2)).toEqual([1, 1]);
  });

  test('retains the newest 1000', () => {
    const { recorder } = createParts();
    for (let i = 0; i < 1100; i += 1) recorder.event({ ...web, name: `p${i}` }, 'Normal', 'Started', 'ok');
    expect(recorder.list()).toHaveLength(1000);
    expect(recorder.list()[0]?.involvedObject.name).toBe('p100');
    expect(recorder.list({ name: 'p99' })).toEqual([]);
  });

  test('event names are unique, even after the clock was set back', () => {
    const { clock, recorder } = createParts();
    for (let i = 0; i < 20; i += 1) {
      if (i === 10) clock.jumpWall(-60_000);
      recorder.event({ ...web, uid: `u${i}` }, 'Normal', 'Started', 'ok');
    }
    expect(new Set(recorder.list().map((event) => event.metadata.name)).size).toBe(20);
  });

  test.each([
    [{ name: 'web-n1' }, 2],
    [{ name: 'web-n1', type: 'Warning' as const }, 1],
    [{ namespace: 'kept-apart' }, 1],
    [{ kind: 'Node' }, 0],
    [{ reason: 'Started' }, 2],
    [{ uid: 'u1' }, 2],
    [{}, 3],
  ])('lists what matches %j', (filter, count) => {
    const { recorder } = createParts();
    recorder.event(web, 'Normal', 'Started', 'ok');
    recorder.event(web, 'Warning', 'Failed', 'no');
    recorder.event({ ...web, namespace: 'kept-apart', name: 'x', uid: 'u3' }, 'Normal', 'Started', 'ok');
    expect(recorder.list(filter)).toHaveLength(count);
  });

  test('truncates a long message, survives a throwing listener, unsubscribes', () => {
    const { recorder, seen } = createParts();
    recorder.onEvent(() => {
      throw new Error('listener');
    });
    const late: Event[] = [];
    const end = recorder.onEvent((event) => late.push(event));
    recorder.event(web, 'Normal', 'Long', 'x'.repeat(5000));
    end();
    recorder.event(web, 'Normal', 'Short', 'y');
    expect(seen[0]?.message).toHaveLength(1024);
    expect(late).toHaveLength(1);
  });
});
