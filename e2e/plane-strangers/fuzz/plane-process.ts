/** The server as a process of its own, which tells how it is. Any failure that nobody catches ends it. */
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { createProcessLogger } from '#api/kit/process-logger.ts';
import { parseConfig } from '#plane/config/parse.ts';
import { startServer } from '#plane/main.ts';

export type Told =
  | { readonly kind: 'ready'; readonly url: string; readonly platconfigFile: string }
  | { readonly kind: 'vitals'; readonly vitals: Vitals }
  | { readonly kind: 'garbage'; readonly bytes: number };

export interface Vitals {
  readonly rssBytes: number;
  readonly heapBytes: number;
  /** Buffers, mostly. */
  readonly externalBytes: number;
  /** Longest time that the event loop was held up since it was last asked. */
  readonly longestTurnMs: number;
}

const tell = (told: Told): void => void process.send?.(told);

const server = await startServer(parseConfig(process.argv.slice(2)), createProcessLogger(0, {}));
const delay = monitorEventLoopDelay({ resolution: 5 });
delay.enable();
function vitals(): Vitals {
  const longestTurnMs = delay.max / 1e6;
  // What is left after two collections is held by something.
  globalThis.gc?.();
  globalThis.gc?.();
  const { rss, heapUsed, external } = process.memoryUsage();
  delay.reset();
  return { rssBytes: rss, heapBytes: heapUsed, externalBytes: external, longestTurnMs };
}

/** Bytes of the heap that nothing holds, and that collections of the new generation alone have left. */
function garbage(): number {
  globalThis.gc?.({ type: 'minor' });
  globalThis.gc?.({ type: 'minor' });
  const { heapUsed } = process.memoryUsage();
  globalThis.gc?.();
  return heapUsed - process.memoryUsage().heapUsed;
}

process.on('message', (asked) => {
  if (asked === 'garbage') tell({ kind: 'garbage', bytes: garbage() });
  else if (asked === 'vitals') tell({ kind: 'vitals', vitals: vitals() });
  else void server.close(AbortSignal.abort()).then(() => process.exit());
});
tell({ kind: 'ready', url: server.url, platconfigFile: server.platconfigFile });
