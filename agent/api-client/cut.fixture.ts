/** Splits bytes as a connection may deliver them. */

/** Yields the bytes in pieces of these sizes, and the rest as the last one. */
export async function* cut(bytes: Buffer, sizes: readonly number[]): AsyncGenerator<Uint8Array> {
  let at = 0;
  for (const size of sizes) {
    yield bytes.subarray(at, at + size);
    at += size;
  }
  await Promise.resolve();
  yield bytes.subarray(at);
}
