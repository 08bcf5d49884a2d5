/** Bytes as a connection may bring them. */

/** The bytes in pieces of these sizes, and what is left as the last one. */
export async function* cut(bytes: Buffer, sizes: readonly number[]): AsyncGenerator<Uint8Array> {
  let at = 0;
  for (const size of sizes) {
    yield bytes.subarray(at, at + size);
    at += size;
  }
  await Promise.resolve();
  yield bytes.subarray(at);
}
