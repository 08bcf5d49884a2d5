/** The whole of a body that is not larger than it may be. */

/** A body that is larger. */
export class TooLargeError extends Error {
  override readonly name = 'TooLargeError';
  readonly reason = 'BodyTooLarge';
}

/** @throws TooLargeError; whatever the body throws while it is read */
export async function readLimited(body: AsyncIterable<unknown>, maxBytes: number): Promise<Buffer> {
  const parts: Uint8Array[] = [];
  let bytes = 0;
  for await (const part of body) {
    if (!(part instanceof Uint8Array)) continue;
    bytes += part.byteLength;
    if (bytes > maxBytes) throw new TooLargeError(`the answer has more than ${maxBytes} bytes`);
    parts.push(part);
  }
  return Buffer.concat(parts);
}
