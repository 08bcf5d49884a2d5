import { array, assert, asyncProperty, constantFrom, dictionary, nat, record, string } from 'fast-check';
import { describe, expect, test } from 'vitest';
import { createApiProtobuf } from '#api/protobuf/api-protobuf.ts';
import { watchFrame } from '#api/protobuf/envelope.ts';
import { VOCABULARIES } from '#api/vocabulary.ts';
import { cut } from './cut.fixture.ts';
import { inTurns } from './turns.ts';
import { type WatchEvent, watchEvents } from './watch-events.ts';
import { watchFrameEvents } from './watch-frames.ts';

const codec = createApiProtobuf(VOCABULARIES.plat);

const noTurns = (): undefined => undefined;

async function read(events: AsyncIterable<WatchEvent>): Promise<readonly WatchEvent[]> {
  const found: WatchEvent[] = [];
  for await (const event of events) found.push(event);
  return found;
}

const configMaps = record({
  kind: constantFrom('ConfigMap' as const),
  apiVersion: constantFrom('v1' as const),
  metadata: record({ name: string({ minLength: 1 }), resourceVersion: string({ minLength: 1 }) }),
  data: dictionary(string(), string(), { minKeys: 1, maxKeys: 3 }),
});
const events = array(record({ type: constantFrom('ADDED', 'MODIFIED', 'DELETED'), object: configMaps }));

describe('watchFrameEvents', () => {
  test('reads the same events as a JSON watch, wherever the bytes are cut', async () => {
    await assert(
      asyncProperty(events, array(nat(60), { maxLength: 12 }), async (given, sizes) => {
        const frames = Buffer.concat(given.map(({ type, object }) => watchFrame(type, codec.encode(object))));
        const lines = Buffer.from(given.map((event) => `${JSON.stringify(event)}\n`).join(''));
        const inFrames = await read(watchFrameEvents(cut(frames, sizes), codec, noTurns));
        expect(inFrames).toEqual(await read(watchEvents(cut(lines, sizes), noTurns)));
      }),
    );
  });

  const added = watchFrame('ADDED', codec.encode({ kind: 'ConfigMap', apiVersion: 'v1' }));
  test.each([
    ['ends within an event', added.subarray(0, 9), 'ended in the middle of an event'],
    ['ends within a length', Buffer.concat([added, Buffer.alloc(2)]), 'ended in the middle of an event'],
    ['has an event that is too long', Buffer.from('ffffffff', 'hex'), 'too long'],
    [
      'has an event of another kind',
      watchFrame('NEW', codec.encode({ kind: 'Pod', apiVersion: 'v1' })),
      'unknown type',
    ],
    ['has an object without an envelope', watchFrame('ADDED', Buffer.from('{}')), 'not protobuf'],
  ])('rejects a watch that %s', async (_what, bytes, message) => {
    await expect(read(watchFrameEvents(cut(bytes, []), codec, noTurns))).rejects.toMatchObject({
      name: 'WatchFormatError',
      message: expect.stringContaining(message) as string,
    });
  });

  test('yields to the event loop between two events', async () => {
    const frames = Buffer.concat(Array.from({ length: 20 }, () => added));
    let asked = 0;
    await read(
      watchFrameEvents(cut(frames, []), codec, () => {
        asked += 1;
        return asked % 2 === 0 ? Promise.resolve() : undefined;
      }),
    );
    expect(asked).toBe(20);
  });
});

describe('inTurns', () => {
  test('reads a long list in as many steps as it has items, as if at once', async () => {
    const items = Array.from({ length: 500 }, (_, name) => ({ metadata: { name: `p${name}` } }));
    const list = { kind: 'PodList', apiVersion: 'v1', metadata: { resourceVersion: '5' }, items };
    const bytes = codec.encode(list);
    let steps = 0;
    const found = await inTurns(codec.decodeInSteps(bytes), () => {
      steps += 1;
      return undefined;
    });
    expect(found).toEqual(codec.decode(bytes));
    expect(found).toMatchObject({ metadata: { resourceVersion: '5' }, items: { length: 500 } });
    expect(steps).toBeGreaterThanOrEqual(500);
  });
});
