import { describe, expect, test } from 'vitest';
import { StoreError, type StoreEvent, type WatchSink } from '../contract.ts';
import { createWatches, type HistoryPiece, type Watches } from './watches.ts';

interface Setup {
  readonly watches: Watches;
  readonly commit: (...keys: string[]) => void;
  /** Responds to the oldest pending history request with so many revisions, or an error. */
  readonly respond: (size: number | StoreError) => void;
  readonly open: () => number;
}

function setUp(): Setup {
  const log: StoreEvent[] = [];
  const requests: { prefix: string; after: number; done: (piece: HistoryPiece | StoreError) => void }[] = [];
  let revision = 1;
  const watches = createWatches({
    revision: () => revision,
    history: (prefix, after, done) => void requests.push({ prefix, after, done }),
    onSinkError(thrown) {
      throw thrown;
    },
  });
  return {
    watches,
    commit(...keys) {
      const events = keys.map((key, i): StoreEvent => ({ type: 'delete', key, revision: revision + 1 + i }));
      log.push(...events);
      revision += keys.length;
      watches.publish(events);
    },
    respond(size) {
      const request = requests.shift();
      if (size instanceof StoreError) return request?.done(size);
      const { prefix = '', after = 0 } = request ?? {};
      const upTo = Math.min(after + size, revision);
      const inPiece = (event: StoreEvent): boolean => event.revision > after && event.revision <= upTo;
      request?.done({ events: log.filter((e) => inPiece(e) && e.key.startsWith(prefix)), upTo });
    },
    open: () => requests.length,
  };
}

interface Seen extends WatchSink {
  readonly batches: (readonly number[])[];
  readonly progress: number[];
  readonly ends: StoreError[];
}

function createSeen(): Seen {
  const seen = { batches: [] as (readonly number[])[], progress: [] as number[], ends: [] as StoreError[] };
  return {
    ...seen,
    onEvents: (events) => void seen.batches.push(events.map(({ revision }) => revision)),
    onProgress: (revision) => void seen.progress.push(revision),
    onEnd: (error) => void seen.ends.push(error),
  };
}

describe('createWatches', () => {
  test('gives each commit at once', () => {
    const { watches, commit } = setUp();
    const seen = createSeen();
    watches.open('/a', 1, seen);
    commit('/a', '/b', '/ab');
    commit('/b');
    commit('/a');
    expect(seen.batches).toEqual([[2, 4], [6]]);
  });

  test('gives history first, in pieces, and leaves out the commits meanwhile', () => {
    const { watches, commit, respond, open } = setUp();
    commit('/a', '/a', '/a', '/a');
    const seen = createSeen();
    watches.open('/', 1, seen);
    respond(2);
    commit('/a');
    respond(2);
    commit('/a');
    expect(open()).toBe(1);
    respond(10);
    commit('/a');
    expect(open()).toBe(0);
    expect(seen.batches).toEqual([[2, 3], [4, 5], [6, 7], [8]]);
  });

  test('reports progress once it has caught up', async () => {
    const { watches, commit, respond } = setUp();
    commit('/a', '/a');
    const seen = createSeen();
    watches.open('/', 1, seen).requestProgress();
    await Promise.resolve();
    expect(seen.progress).toEqual([]);
    respond(10);
    expect(seen.progress).toEqual([3]);
  });

  test('ends what can’t be caught up, and only that', () => {
    const { watches, commit, respond } = setUp();
    const [late, live] = [createSeen(), createSeen()];
    watches.open('/', 1, live);
    commit('/a');
    watches.open('/', 1, late);
    const error = new StoreError('compacted', 'gone');
    respond(error);
    commit('/a');
    expect([late.ends, late.batches]).toEqual([[error], []]);
    expect([live.ends, live.batches]).toEqual([[], [[2], [3]]]);
  });

  test('gives nothing to a watch that was closed while it caught up', () => {
    const { watches, commit, respond, open } = setUp();
    commit('/a', '/a');
    const seen = createSeen();
    watches.open('/', 1, seen).close();
    respond(1);
    expect([open(), seen.batches]).toEqual([0, []]);
  });

  test('a watch that is opened by a sink sees what comes after', () => {
    const { watches, commit } = setUp();
    const inner = createSeen();
    let opened = false;
    watches.open('/', 1, {
      ...createSeen(),
      onEvents(events) {
        if (!opened) watches.open('/', events.at(-1)?.revision ?? 0, inner);
        opened = true;
      },
    });
    commit('/a');
    commit('/b');
    expect(inner.batches).toEqual([[3]]);
  });
});
