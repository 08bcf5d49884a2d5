import { describe, expect, test } from 'vitest';
import { createFakeClock } from '#api/kit/clock.ts';
import { silentLogger } from '#api/kit/logger.ts';
import { StatusError } from '#api/meta/status-error.ts';
import type { ApiObject, Resource } from '../../resources/contract.ts';
import { createEventRecorder, type EventRecorder } from './events.ts';

const about: ApiObject = {
  apiVersion: 'apps/v1',
  kind: 'ReplicaSet',
  metadata: { name: 'web', namespace: 'ns', uid: 'u' },
};

interface World {
  readonly recorder: EventRecorder;
  readonly stored: Map<string, ApiObject>;
  readonly clock: ReturnType<typeof createFakeClock>;
}

function createWorld(): World {
  const stored = new Map<string, ApiObject>();
  const clock = createFakeClock();
  const recorder = createEventRecorder(
    {
      clock,
      log: silentLogger,
      caller: {
        user: { name: 'me', groups: [], extra: {} },
        signal: new AbortController().signal,
        warn: () => undefined,
        annotate: () => undefined,
      },
      verbs: {
        create({ object }) {
          const name = `${object.metadata.generateName ?? ''}${stored.size}`;
          object.metadata.name = name;
          stored.set(name, object);
          return Promise.resolve({ object });
        },
        async update({ ref: { name }, change }) {
          const live = stored.get(name);
          if (live === undefined) throw new StatusError('NotFound', name);
          if (typeof change !== 'function') throw new Error('a recorder changes events by functions');
          const object = await change(live);
          stored.set(name, object);
          return { object };
        },
      },
    },
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the test does not read it
    { resource: {} as Resource, component: 'test', fieldManager: 'test' },
  );
  return { recorder, stored, clock };
}

const counts = (stored: Map<string, ApiObject>): readonly unknown[] =>
  [...stored.values()].map((event) => [event['message'], event['count']]);

describe('record', () => {
  test('a repeated event is counted', async () => {
    const { recorder, stored, clock } = createWorld();
    recorder.record(about, 'Normal', 'Made', 'a');
    recorder.record(about, 'Normal', 'Made', 'a');
    recorder.record(about, 'Normal', 'Made', 'b');
    await clock.advance(0);
    expect(counts(stored)).toEqual([
      ['a', 2],
      ['b', 1],
    ]);
    expect([...stored.values()][0]).toMatchObject({
      involvedObject: { kind: 'ReplicaSet', namespace: 'ns', name: 'web', uid: 'u' },
      metadata: { namespace: 'ns' },
      source: { component: 'test' },
    });
  });

  test('a deleted event is created again', async () => {
    const { recorder, stored, clock } = createWorld();
    recorder.record(about, 'Normal', 'Made', 'a');
    await clock.advance(0);
    stored.clear();
    recorder.record(about, 'Normal', 'Made', 'a');
    await clock.advance(0);
    expect(counts(stored)).toEqual([['a', 1]]);
  });

  test('events of one object are rate-limited', async () => {
    const { recorder, stored, clock } = createWorld();
    for (let index = 0; index < 100; index += 1) recorder.record(about, 'Normal', 'Made', `${index}`);
    await clock.advance(1000);
    expect(stored.size).toBe(25);
    recorder.record({ ...about, metadata: { ...about.metadata, uid: 'v' } }, 'Normal', 'Made', 'x');
    await clock.advance(0);
    expect(stored.size).toBe(26);
    await clock.advance(300_000);
    recorder.record(about, 'Normal', 'Made', 'y');
    await clock.advance(0);
    expect(stored.size).toBe(27);
  });
});
