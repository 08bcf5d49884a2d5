import { array, assert, asyncProperty, nat } from 'fast-check';
import { describe, expect, test } from 'vitest';
import { cut } from './cut.fixture.ts';
import { parseWatchEvent, type WatchEvent, watchEvents } from './watch-events.ts';

async function read(body: AsyncIterable<unknown>): Promise<readonly WatchEvent[]> {
  const events: WatchEvent[] = [];
  for await (const event of watchEvents(body, () => undefined)) events.push(event);
  return events;
}

const events: readonly WatchEvent[] = [
  { type: 'ADDED', object: { kind: 'Pod', name: 'grün' } },
  { type: 'BOOKMARK', object: {} },
  { type: 'DELETED', object: { kind: 'Pod' } },
];

describe('watchEvents', () => {
  test('reads events wherever the bytes are cut', async () => {
    const bytes = Buffer.from(events.map((event) => `${JSON.stringify(event)}\n`).join(''));
    await assert(
      asyncProperty(array(nat(40), { maxLength: 12 }), async (sizes) => {
        expect(await read(cut(bytes, sizes))).toEqual(events);
      }),
    );
  });

  test('reports an end within an event', async () => {
    await expect(read(cut(Buffer.from('{"type":'), []))).rejects.toThrow(
      'the watch ended in the middle of an event',
    );
  });
});

describe('parseWatchEvent', () => {
  test('throws the error of the server', () => {
    const object = { kind: 'Status', code: 410, reason: 'Expired', message: 'too old resource version' };
    expect(() => parseWatchEvent(JSON.stringify({ type: 'ERROR', object }))).toThrow(
      expect.objectContaining({
        name: 'ApiRequestError',
        status: 410,
        reason: 'Expired',
        message: object.message,
      }),
    );
  });
  test.each(['no', '{}', '{"type":"NEW","object":{}}', '{"type":"ADDED","object":[]}'])(
    'rejects %s',
    (line) => {
      expect(() => parseWatchEvent(line)).toThrow(expect.objectContaining({ name: 'WatchFormatError' }));
    },
  );
});
