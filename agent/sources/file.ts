/** The source `file`: pods and objects from a manifest directory or from one file. inotify wakes it, a slow
 *  recheck is the safety net. Never writes. */
import { join, resolve } from 'node:path';
import { asError, type Clock } from '#api/kit/clock.ts';
import type { Logger } from '#api/kit/logger.ts';
import { createLoop } from '#api/kit/loop.ts';
import type { Waits } from '#api/kit/waits.ts';
import { createWatching } from './file-follow.ts';
import { isIgnoredName, isIndirection } from './file-names.ts';
import { createPublisher } from './file-publish.ts';
import { createWriteWatch } from './file-rest.ts';
import { createFileTable } from './file-table.ts';
import { type PathChange, type WatchPath, watchPath } from './file-watch.ts';
import type { PodSource, ReadManifests, SourceSink } from './types.ts';

export interface FileSourceDeps {
  readonly clock: Clock;
  readonly log: Logger;
  /** Shows that the path is missing. */
  readonly waits?: Pick<Waits, 'begin'>;
  readonly readManifests: ReadManifests;
  /** inotify by chokidar unless given. */
  readonly watchPath?: WatchPath;
}

export interface FileSourceOptions {
  /** Directory or single file; need not exist yet. */
  readonly path: string;
  /** Time between rechecks (`fileCheckFrequency`) in ms; none when not positive. */
  readonly checkMs: number;
  /** Largest manifest that is read, in bytes. Default 3 MiB. */
  readonly maxBytes?: number;
  /** How long a faulty file is held to be half written, in ms. Default 1000. */
  readonly graceMs?: number;
  /** How long a missing file may come back, in ms. Default 250. */
  readonly goneMs?: number;
  /** How long the writer of a file must rest, in ms. Default 25. */
  readonly settleMs?: number;
}

const MAX_MANIFEST_BYTES = 3 * 1024 * 1024;
const RETRY_MS = 1000;

/** What was asked for since the last step. */
interface Requests {
  scan: boolean;
  /** An event named the path itself. */
  self: boolean;
  readonly paths: Set<string>;
}

export function createFileSource(deps: FileSourceDeps, options: FileSourceOptions): PodSource {
  return {
    name: 'file',
    run: (signal, sink) => createFileRun(deps, options, sink).run(signal),
  };
}

function createFileRun(
  deps: FileSourceDeps,
  options: FileSourceOptions,
  sink: SourceSink,
): { run(signal: AbortSignal): Promise<void> } {
  const { clock, log } = deps;
  const path = resolve(options.path);
  const { maxBytes = MAX_MANIFEST_BYTES, graceMs = 1000, goneMs = 250, settleMs = 25 } = options;
  const writes = createWriteWatch(settleMs, graceMs);
  const table = createFileTable(
    { clock, writes, readManifests: deps.readManifests },
    { path, maxBytes, graceMs, goneMs, settleMs },
  );
  const requests: Requests = { scan: true, self: false, paths: new Set() };
  const publish = createPublisher(sink, path, clock.monotonic() + 2 * graceMs);
  const { waits, watchPath: watch = watchPath } = deps;
  const watching = createWatching({ log, path, waits, watchPath: watch, onChange });
  let rescanAtMs = 0;

  function onChange(change: PathChange): void {
    if (change.kind === 'self') {
      if (change.inPlace) writes.note(path, clock.monotonic());
      requests.scan = true;
      requests.self = true;
    } else if (isIndirection(change.name)) {
      requests.scan = true;
    } else if (isIgnoredName(change.name)) {
      return;
    } else {
      const entry = join(path, change.name);
      if (change.inPlace) writes.note(entry, clock.monotonic());
      requests.paths.add(entry);
    }
    loop.wake();
  }

  async function scan(signal: AbortSignal): Promise<void> {
    const forced = requests.self;
    requests.scan = false;
    requests.self = false;
    rescanAtMs = clock.monotonic() + (options.checkMs > 0 ? options.checkMs : Number.POSITIVE_INFINITY);
    try {
      // Whatever changes between the scan and the new watch would go unseen, so watch first.
      await watching.follow();
      await table.scan(forced, signal);
      publish.recovered();
    } catch (thrown) {
      if (signal.aborted) throw thrown;
      rescanAtMs = clock.monotonic() + RETRY_MS;
      const error = asError(thrown);
      if (publish.failed(error)) log.warn({ err: error, path }, 'Manifest path not readable');
    }
  }

  async function step(signal: AbortSignal): Promise<number> {
    if (requests.scan || clock.monotonic() >= rescanAtMs) await scan(signal);
    const nowMs = clock.monotonic();
    const due = table.due().filter(({ atMs }) => atMs <= nowMs);
    const paths = new Set([...requests.paths, ...due.map((entry) => entry.path)]);
    requests.paths.clear();
    if (paths.size > 0) await table.look(paths, signal);
    publish.content(table.sets(), table.undecided(), clock.monotonic());
    const nextMs = Math.min(rescanAtMs, ...table.due().map(({ atMs }) => atMs));
    return clock.now() + Math.min(nextMs - clock.monotonic(), 2 ** 31);
  }

  const loop = createLoop({
    clock,
    step,
    onError: (error) => log.error({ err: error, path }, 'Manifest scan failed'),
    retryMs: RETRY_MS,
  });

  return {
    async run(signal) {
      loop.wake();
      try {
        await loop.run(signal);
      } finally {
        await watching.close();
      }
    },
  };
}
