/** The key that detaches from a session; the process in the container keeps running. */

/** Ctrl-], as in other consoles: programs in a terminal hardly ever use it. */
const DETACH = 0x1d;

/** Passes on the bytes before the key. The key aborts `detach` and is not passed on. */
export async function* detachOnKey(
  input: AsyncIterable<Uint8Array>,
  detach: AbortController,
): AsyncGenerator<Uint8Array> {
  for await (const chunk of input) {
    const at = chunk.indexOf(DETACH);
    if (at < 0) yield chunk;
    else {
      if (at > 0) yield chunk.subarray(0, at);
      detach.abort(new Error('detached'));
      return;
    }
  }
}
