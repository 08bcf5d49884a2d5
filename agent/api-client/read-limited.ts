/** Reads a complete body up to a size limit. */

/** A body above the limit. */
export class TooLargeError extends Error {
  override readonly name = 'TooLargeError';
  readonly reason = 'BodyTooLarge';
}

/** @throws TooLargeError; errors of the body stream */
export async function readLimited(body: AsyncIterable<unknown>, maxBytes: number): Promise<Buffer> {
  const parts: Uint8Array[] = [];
  let bytes = 0;
  for await (const part of body) {
    if (!(part instanceof Uint8Array)) continue;
    bytes += part.byteLength;
    if (bytes > maxBytes) throw new TooLargeError(`the response exceeds ${maxBytes} bytes`);
    parts.push(part);
  }
  return Buffer.concat(parts);
}
