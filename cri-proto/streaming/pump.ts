/** Copies input into a session, for either transport. */

import { SpdyStreamError } from '#api/spdy/errors.ts';
import type { TerminalSize } from './session.ts';

/** Destination of input. */
export interface InputStream {
  write(bytes: Uint8Array): Promise<void>;
  /** Half-close. */
  end(): void;
}

/** Copies a source into a stream and closes it. A command that exits before it has read everything is not a
 *  failure. */
export async function pump<T>(
  source: AsyncIterable<T>,
  encode: (item: T) => Uint8Array,
  stream: InputStream,
  over: AbortSignal,
): Promise<void> {
  const iterator = source[Symbol.asyncIterator]();
  const isOver = new Promise<undefined>((resolve) => {
    over.addEventListener('abort', () => resolve(undefined), { once: true });
  });
  try {
    while (!over.aborted) {
      const next = await Promise.race([iterator.next(), isOver]);
      if (next === undefined || next.done === true) break;
      await stream.write(encode(next.value));
    }
    stream.end();
  } catch (thrown) {
    if (!(thrown instanceof SpdyStreamError)) throw thrown;
  } finally {
    // Not awaited: a source that waits for a key press would keep the session open.
    iterator.return?.().catch(() => undefined);
  }
}

/** Formats a terminal size for the resize stream: one JSON document per line. */
export function encodeSize({ width, height }: TerminalSize): Uint8Array {
  return Buffer.from(`${JSON.stringify({ Width: width, Height: height })}\n`);
}
