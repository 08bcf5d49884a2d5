/** Progress on a terminal: a bar if the total is known, otherwise bytes and elapsed time. Silent elsewhere. */
import type { Clock } from '#api/kit/clock.ts';
import type { Output } from '../context.ts';
import { printable } from '../views/table.ts';
import { formatBytes } from '../views/top-view.ts';

const BAR_WIDTH = 30;
const FRAME_MS = 200;

/** @param doneBytes undefined if only the time is known */
function progressLine(
  title: string,
  {
    doneBytes,
    totalBytes,
    elapsedMs,
  }: {
    readonly doneBytes: number | undefined;
    readonly totalBytes: number | undefined;
    readonly elapsedMs: number;
  },
): string {
  const seconds = `${Math.floor(elapsedMs / 1000)}s`;
  if (doneBytes === undefined) return `${title}  ${seconds}`;
  if (totalBytes === undefined || totalBytes <= 0) return `${title}  ${formatBytes(doneBytes)}  ${seconds}`;
  const part = Math.min(1, doneBytes / totalBytes);
  const filled = Math.floor(part * BAR_WIDTH);
  const bar = `[${'#'.repeat(filled)}${'-'.repeat(BAR_WIDTH - filled)}]`;
  return `${title}  ${bar} ${Math.floor(part * 100)}%  ${formatBytes(doneBytes)} of ${formatBytes(totalBytes)}`;
}

export interface Progress extends AsyncDisposable {
  /** Passes the chunks on and counts them. */
  count(stream: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array>;
}

/** Shows the line until it is disposed of, and removes it then. */
export function startProgress(
  { err, clock }: { readonly err: Output; readonly clock: Clock },
  title: string,
  totalBytes?: number,
): Progress {
  const startedMs = clock.monotonic();
  let doneBytes: number | undefined;
  let last = Promise.resolve();
  let timer: { cancel(): void } | undefined;
  const draw = (): void => {
    const columns = Math.max(20, err.terminal?.().columns || 80);
    const line = progressLine(printable(title), {
      doneBytes,
      totalBytes,
      elapsedMs: clock.monotonic() - startedMs,
    });
    last = err.write(`\r${line.slice(0, columns - 1)}\u001B[K`).catch(() => undefined);
    timer = clock.setTimer(draw, FRAME_MS);
  };
  if (err.terminal !== undefined) draw();
  return {
    async *count(stream) {
      for await (const chunk of stream) {
        doneBytes = (doneBytes ?? 0) + chunk.length;
        yield chunk;
      }
    },
    async [Symbol.asyncDispose]() {
      timer?.cancel();
      await last;
      if (err.terminal !== undefined) await err.write('\r\u001B[K').catch(() => undefined);
    },
  };
}
