/** The key that leaves a session while the process in the container goes on. */

/** Ctrl-], as with other consoles: programs in a terminal hardly ever want it. */
const DETACH = 0x1d;

/** The bytes up to the key, which aborts `detach` and is not passed on. */
export async function* detachOnKey(
  input: AsyncIterable<Uint8Array>,
  detach: AbortController,
): AsyncGenerator<Uint8Array> {
  for await (const chunk of input) {
    const at = chunk.indexOf(DETACH);
    if (at < 0) yield chunk;
    else {
      if (at > 0) yield chunk.subarray(0, at);
      detach.abort(new Error('session was left'));
      return;
    }
  }
}
