/** The server as a child process that reports its health. Any uncaught failure terminates it. */
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { createProcessLogger } from '#api/kit/logging/process-logger.ts';
import { parseConfig } from '#plane/config/parse.ts';
import { startServer } from '#plane/main.ts';

export type Report =
  | { readonly kind: 'ready'; readonly url: string; readonly platconfigFile: string }
  | { readonly kind: 'vitals'; readonly vitals: Vitals }
  | { readonly kind: 'garbage'; readonly bytes: number }
  | { readonly kind: 'stall'; readonly ms: number };

export interface Vitals {
  readonly rssBytes: number;
  readonly heapBytes: number;
  /** Buffers, mostly. */
  readonly externalBytes: number;
  /** Longest time that the event loop was blocked since the last call. */
  readonly longestTurnMs: number;
}

const report = (reported: Report): void => void process.send?.(reported);

const server = await startServer(parseConfig(process.argv.slice(2)), createProcessLogger(0, {}));
const delay = monitorEventLoopDelay({ resolution: 5 });
delay.enable();
/** How often the processor time of this thread is looked at. */
const LOOK_MS = 5;
const threadMs = (): number => {
  const { user, system } = process.threadCpuUsage();
  return (user + system) / 1000;
};
let lookedMs = threadMs();
let longestStallMs = 0;

/** The most processor time that the thread took between two turns in which a timer could fire. Unlike the time on the
 *  clock, it doesn't grow when the machine has other work. */
function look(): void {
  const nowMs = threadMs();
  longestStallMs = Math.max(longestStallMs, nowMs - lookedMs);
  lookedMs = nowMs;
}
setInterval(look, LOOK_MS).unref();

/** Returns the longest since the last call. */
function stall(): number {
  look();
  const ms = longestStallMs;
  longestStallMs = 0;
  return ms;
}

function vitals(): Vitals {
  const longestTurnMs = delay.max / 1e6;
  // Memory that remains after two collections is referenced.
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

process.on('message', (requested) => {
  if (requested === 'stall') report({ kind: 'stall', ms: stall() });
  else if (requested === 'garbage') report({ kind: 'garbage', bytes: garbage() });
  else if (requested === 'vitals') report({ kind: 'vitals', vitals: vitals() });
  else void server.close(AbortSignal.abort()).then(() => process.exit());
});
report({ kind: 'ready', url: server.url, platconfigFile: server.platconfigFile });
