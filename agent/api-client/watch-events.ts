/** Parses the events of a JSON watch. Does not handle connections or resuming. */

import { parseJsonText } from '#api/codec/json-text.ts';
import { isObject } from '#api/kit/object.ts';
import { readApiFailure } from './errors.ts';
import type { Turns } from './turns.ts';

export interface WatchEvent {
  readonly type: 'ADDED' | 'MODIFIED' | 'DELETED' | 'BOOKMARK';
  readonly object: Readonly<Record<string, unknown>>;
}

/** A malformed event. */
export class WatchFormatError extends Error {
  override readonly name = 'WatchFormatError';
  readonly reason = 'BadWatchEvent';
  readonly retryable = true;
}

/** An event is slightly larger than its object, and the largest object has 3 MiB. */
export const LONGEST_EVENT_BYTES: number = 16 * 1024 * 1024;
const NEWLINE = 0x0a;
const TYPES = ['ADDED', 'MODIFIED', 'DELETED', 'BOOKMARK'] as const;

/** Parses one line.
 *  @throws ApiRequestError for an ERROR event, such as `Expired`; WatchFormatError */
export function parseWatchEvent(line: string): WatchEvent {
  let event: unknown;
  try {
    event = parseJsonText(line);
  } catch {
    throw new WatchFormatError('a line of the watch is not JSON');
  }
  if (typeof event !== 'object' || event === null || !('type' in event) || !('object' in event)) {
    throw new WatchFormatError('an event of the watch has no type or no object');
  }
  return asWatchEvent(event.type, event.object);
}

/** Creates the event of a type and an object.
 *  @throws ApiRequestError for an ERROR event, such as `Expired`; WatchFormatError */
export function asWatchEvent(named: unknown, object: unknown): WatchEvent {
  if (named === 'ERROR') throw readApiFailure(500, object, 'the watch failed');
  const type = TYPES.find((known) => known === named);
  if (type === undefined || !isObject(object)) {
    throw new WatchFormatError('an event of the watch has an unknown type, or no object');
  }
  return { type, object };
}

/** Yields events in order, until the server ends the watch.
 *  @throws ApiRequestError, WatchFormatError; errors of the body when the connection breaks */
export async function* watchEvents(
  body: AsyncIterable<unknown>,
  turns: Turns,
): AsyncGenerator<WatchEvent, void> {
  let rest: Uint8Array[] = [];
  let restBytes = 0;
  for await (const chunk of body) {
    if (!(chunk instanceof Uint8Array)) continue;
    let start = 0;
    for (let end = chunk.indexOf(NEWLINE); end >= 0; end = chunk.indexOf(NEWLINE, start)) {
      const line = Buffer.concat([...rest, chunk.subarray(start, end)]).toString('utf8');
      [rest, restBytes, start] = [[], 0, end + 1];
      if (line.trim() === '') continue;
      yield parseWatchEvent(line);
      const over = turns();
      if (over !== undefined) await over;
    }
    if (start === chunk.length) continue;
    rest.push(chunk.subarray(start));
    restBytes += chunk.length - start;
    if (restBytes > LONGEST_EVENT_BYTES) throw new WatchFormatError('a line of the watch is too long');
  }
  if (restBytes > 0) throw new WatchFormatError('the watch ended in the middle of an event');
}
