/** A writer and a watcher of one object, which measure watch latency. */
import { setTimeout as wait } from 'node:timers/promises';
import { percentile } from './percentile.ts';
import type { ServerView } from './server-view.ts';
import { NAMESPACE } from './workload.ts';

export interface WatchTimes {
  readonly count: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
}

export interface WatchProbe {
  /** Returns the times from sending each write to its event. */
  times(): WatchTimes;
  readonly done: Promise<void>;
}

const COLLECTION = `/api/v1/namespaces/${NAMESPACE}/configmaps`;
const NAME = 'probe';
const PAUSE_MS = 200;

/** Runs until the signal fires. */
export async function startWatchProbe(server: ServerView, signal: AbortSignal): Promise<WatchProbe> {
  await server.call('POST', COLLECTION, { metadata: { name: NAME }, data: { at: '' } });
  const delaysMs: number[] = [];
  const watched = server.watch(
    `${COLLECTION}?watch=1&fieldSelector=metadata.name%3D${NAME}`,
    (event) => {
      // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the server under measurement wrote it
      const { object } = event as { readonly object: { readonly data?: { readonly at?: string } } };
      const sentMs = Number(object.data?.at ?? '');
      if (sentMs > 0) delaysMs.push(performance.now() - sentMs);
    },
    signal,
  );
  async function write(): Promise<void> {
    while (!signal.aborted) {
      await server.call('PATCH', `${COLLECTION}/${NAME}`, { data: { at: String(performance.now()) } });
      await wait(PAUSE_MS);
    }
  }
  return {
    times: () => ({
      count: delaysMs.length,
      p50Ms: percentile(delaysMs, 0.5),
      p99Ms: percentile(delaysMs, 0.99),
    }),
    done: Promise.all([watched, write()]).then(() => undefined),
  };
}
