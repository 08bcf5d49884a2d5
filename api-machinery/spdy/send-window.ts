/** Send window of a stream. Not every peer maintains windows: the streaming servers of the CRI runtimes
 *  never send a WINDOW_UPDATE and would stop us for good after the first 64 KiB. So a window limits
 *  nothing until the peer has shown that it maintains windows. */

export interface SendWindow {
  /** Returns how many of the `wanted` bytes may be sent now; waits until it is at least one. Resolves to 0
   *  when the window was closed. */
  take(wanted: number): Promise<number>;
  /** The peer consumed bytes: a WINDOW_UPDATE. */
  grow(bytes: number): void;
  /** The peer changed the initial window; the change may be negative. */
  adjust(bytes: number): void;
  /** Ends every wait. */
  close(): void;
}

export const INITIAL_WINDOW_BYTES: number = 64 * 1024;

export function createSendWindow(initialBytes: number, isEnforcedFromStart: boolean): SendWindow {
  const state = { creditBytes: initialBytes, isEnforced: isEnforcedFromStart, isClosed: false };
  let waiting: (() => void)[] = [];

  function wake(): void {
    const woken = waiting;
    waiting = [];
    for (const resume of woken) resume();
  }

  function change(bytes: number): void {
    state.isEnforced = true;
    state.creditBytes += bytes;
    if (state.creditBytes > 0) wake();
  }

  return {
    async take(wanted) {
      while (state.isEnforced && state.creditBytes <= 0 && !state.isClosed) {
        await new Promise<void>((resolve) => waiting.push(resolve));
      }
      if (state.isClosed) return 0;
      const granted = state.isEnforced ? Math.min(wanted, state.creditBytes) : wanted;
      state.creditBytes -= granted;
      return granted;
    },
    grow: change,
    adjust: change,
    close() {
      state.isClosed = true;
      wake();
    },
  };
}
