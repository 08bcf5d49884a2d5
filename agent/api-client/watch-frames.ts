/** The events of a watch in protobuf: four bytes of length before each. */
import { FRAME_HEAD_BYTES, readWatchMessage } from '#api/codec/api-protobuf/envelope.ts';
import type { ApiProtobuf } from '#api/codec/api-protobuf.ts';
import { ProtobufError } from '#api/codec/protobuf/error.ts';
import type { Turns } from './turns.ts';
import { asWatchEvent, LONGEST_EVENT_BYTES, type WatchEvent, WatchFormatError } from './watch-events.ts';

/** Bytes as they come, cut where one asks. */
interface Inflow {
  /** Bytes that are there. */
  size(): number;
  add(chunk: Uint8Array): void;
  /** The first bytes, which go. */
  take(length: number): Buffer;
}

function createInflow(): Inflow {
  let parts: Uint8Array[] = [];
  let size = 0;
  /** As one piece; joined only when somebody needs them so: a long event comes in many. */
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

/** One event.
 *  @throws ApiRequestError for the server's own failure; WatchFormatError */
export function parseWatchFrame(message: Buffer, codec: ApiProtobuf): WatchEvent {
  try {
    const { type, object } = readWatchMessage(message);
    return asWatchEvent(type, codec.decode(object));
  } catch (cause) {
    if (!(cause instanceof ProtobufError)) throw cause;
    throw new WatchFormatError(`an event of the watch is not protobuf: ${cause.message}`, { cause });
  }
}

/** Events in order, until the server ends the watch.
 *  @throws ApiRequestError, WatchFormatError; whatever the body throws when the connection breaks */
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
    throw new WatchFormatError('the watch broke off within an event');
  }
}
