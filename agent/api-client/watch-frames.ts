/** Parses the events of a protobuf watch: each is preceded by its length in four bytes. */

import { ProtobufError } from '#api/codec/protobuf/error.ts';
import type { ApiProtobuf } from '#api/protobuf/api-protobuf.ts';
import { FRAME_HEAD_BYTES, readWatchMessage } from '#api/protobuf/envelope.ts';
import type { Turns } from './turns.ts';
import { asWatchEvent, LONGEST_EVENT_BYTES, type WatchEvent, WatchFormatError } from './watch-events.ts';

/** Buffer of received chunks that can be cut at any length. */
interface Inflow {
  /** Number of buffered bytes. */
  size(): number;
  add(chunk: Uint8Array): void;
  /** Removes and returns the first bytes. */
  take(length: number): Buffer;
}

function createInflow(): Inflow {
  let parts: Uint8Array[] = [];
  let size = 0;
  /** Concatenates lazily: a long event arrives in many chunks. */
  function joined(): Buffer {
    const [first] = parts;
    if (parts.length === 1 && first !== undefined) {
      return Buffer.from(first.buffer, first.byteOffset, first.byteLength);
    }
    const whole = Buffer.concat(parts);
    parts = [whole];
    return whole;
  }
  return {
    size: () => size,
    add(chunk) {
      parts.push(chunk);
      size += chunk.byteLength;
    },
    take(length) {
      const whole = joined();
      const rest = whole.subarray(length);
      parts = rest.length === 0 ? [] : [rest];
      size = rest.length;
      return whole.subarray(0, length);
    },
  };
}

/** Decodes one event.
 *  @throws ApiRequestError for an ERROR event; WatchFormatError */
function parseWatchFrame(message: Buffer, codec: ApiProtobuf): WatchEvent {
  try {
    const { type, object } = readWatchMessage(message);
    return asWatchEvent(type, codec.decode(object));
  } catch (cause) {
    if (!(cause instanceof ProtobufError)) throw cause;
    throw new WatchFormatError(`an event of the watch is not protobuf: ${cause.message}`, { cause });
  }
}

/** Yields events in order, until the server ends the watch.
 *  @throws ApiRequestError, WatchFormatError; errors of the body when the connection breaks */
export async function* watchFrameEvents(
  body: AsyncIterable<unknown>,
  codec: ApiProtobuf,
  turns: Turns,
): AsyncGenerator<WatchEvent, void> {
  const inflow = createInflow();
  let wanted: number | undefined;
  for await (const chunk of body) {
    if (!(chunk instanceof Uint8Array)) continue;
    inflow.add(chunk);
    while (inflow.size() >= (wanted ?? FRAME_HEAD_BYTES)) {
      if (wanted === undefined) {
        wanted = inflow.take(FRAME_HEAD_BYTES).readUInt32BE(0);
        if (wanted > LONGEST_EVENT_BYTES) throw new WatchFormatError('an event of the watch is too long');
        continue;
      }
      const message = inflow.take(wanted);
      wanted = undefined;
      yield parseWatchFrame(message, codec);
      const over = turns();
      if (over !== undefined) await over;
    }
  }
  if (wanted !== undefined || inflow.size() > 0) {
    throw new WatchFormatError('the watch ended in the middle of an event');
  }
}
