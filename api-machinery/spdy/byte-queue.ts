/** Byte queue from events to a reader: pushed as they arrive, iterated once, ended or failed once. */

export interface ByteQueue {
  push(bytes: Uint8Array): void;
  /** No more bytes follow; queued ones are still read. */
  end(): void;
  /** Readers get the queued bytes, then this error. */
  fail(error: Error): void;
  readonly iterate: () => AsyncGenerator<Uint8Array>;
}

/** @param onTaken called with the size of each piece that a reader took */
export function createByteQueue(onTaken: (bytes: number) => void): ByteQueue {
  const pieces: Uint8Array[] = [];
  let end: { readonly error: Error | undefined } | undefined;
  let notify: (() => void) | undefined;

  function finish(error: Error | undefined): void {
    end ??= { error };
    notify?.();
  }

  return {
    push(bytes) {
      if (end !== undefined || bytes.byteLength === 0) return onTaken(bytes.byteLength);
      pieces.push(bytes);
      notify?.();
    },
    end: () => finish(undefined),
    fail: (error) => finish(error),
    async *iterate() {
      for (;;) {
        const piece = pieces.shift();
        if (piece !== undefined) {
          onTaken(piece.byteLength);
          yield piece;
        } else if (end !== undefined) {
          if (end.error !== undefined) throw end.error;
          return;
        } else {
          await new Promise<void>((resolve) => {
            notify = resolve;
          });
        }
      }
    },
  };
}
