/** Runs the clients for some time, then completes the watches, and returns the history. */
import { once } from 'node:events';
import { createRandom } from '../../testing/random.ts';
import { expectedOf } from './check-watches.ts';
import {
  collectionPath,
  type ListBody,
  type Noted,
  type Notes,
  type Server,
  send,
  versionOf,
  watch,
} from './client.ts';
import type { History, Listing, Seen, Selection, Version } from './history.ts';
import { changesOf } from './truth.ts';
import { type Closing, isWatching, runClient, type Workload, writeToAll } from './workload.ts';

export interface RunOptions {
  readonly clients: number;
  readonly forMs: number;
  /** A busy machine continues until there are this many gets and lists, or for several times as long. */
  readonly atLeast: number;
  readonly seed: number;
  /** Makes servers fail meanwhile; when it ends, all of them work. */
  readonly chaos?: () => Promise<void>;
}

export interface Run {
  readonly history: History;
  /** Responses that no client should get. */
  readonly surprises: readonly string[];
}

const NAMESPACES = ['history-a', 'history-b'];
/** Time for the last watches to see what was written before, in ms. */
const LATE_MS = 10_000;
/** Of a busy machine: so many times as long, with a look so often, in ms. */
const LONGEST = 8;
const LOOK_MS = 500;

export async function runHistory(servers: readonly Server[], options: RunOptions): Promise<Run> {
  const { clients, seed, chaos } = options;
  const [server] = servers;
  if (server === undefined) throw new Error('no server');
  for (const name of NAMESPACES)
    await send(server, 'POST', '/api/v1/namespaces', { body: { metadata: { name } } });
  const { before, revision } = await stateOf(server);
  const notes = {
    writes: [],
    gets: [],
    watchings: [],
    listings: [],
    surprises: [],
    newest: revision,
    failing: chaos !== undefined,
  };
  const witnesses = await Promise.all(servers.map((each) => beginWitness(notes, each, revision)));
  const stop = new AbortController();
  const closing = createClosing(clients);
  const work: Workload = {
    notes,
    servers,
    random: createRandom(seed),
    namespaces: NAMESPACES,
    signal: stop.signal,
    closing,
  };
  const timer = stopInTime(options, notes, stop);
  const all = Promise.all(Array.from({ length: clients }, (_, index) => runClient(work, index)));
  // A client that fails ends the run.
  await Promise.race([Promise.all([once(stop.signal, 'abort'), closing.allOpen, chaos?.()]), all]);
  timer.cancel();
  await writeToAll(work);
  const end = notes.newest;
  await Promise.all(witnesses.map((witness) => witness.until(end, closing.late)));
  closing.end(lastOf(witnesses[0]?.seen ?? [], before, end));
  await all;
  await Promise.all(witnesses.map((witness) => witness.stop()));
  return { history: historyOf(notes, witnesses, { seed, before, end }), surprises: notes.surprises };
}

function stopInTime(
  { forMs, atLeast }: RunOptions,
  notes: Workload['notes'],
  stop: AbortController,
): { readonly cancel: () => void } {
  const lastMs = performance.now() + LONGEST * forMs;
  const look = (): void => {
    const least = Math.min(notes.gets.length, notes.listings.length);
    if (least >= atLeast || performance.now() > lastMs) stop.abort();
    else timer = setTimeout(look, LOOK_MS);
  };
  let timer = setTimeout(look, forMs);
  return { cancel: () => clearTimeout(timer) };
}

interface State {
  readonly before: readonly Version[];
  readonly revision: number;
}

async function stateOf(server: Server): Promise<State> {
  const { body } = await send(server, 'GET', collectionPath(undefined));
  const { metadata, items } = body as ListBody;
  return { before: items.map(versionOf), revision: Number(metadata.resourceVersion) };
}

interface Witness {
  readonly seen: readonly Seen[];
  /** Notes on its watches, which belong to no client. */
  readonly noted: ReadonlySet<Noted>;
  /** Resolves when it has seen what happened up to the revision, or at the signal. */
  until(revision: number, signal: AbortSignal): Promise<void>;
  stop(): Promise<void>;
}

/** A watch of everything, resumed should the server end it. */
async function beginWitness(notes: Notes, server: Server, revision: number): Promise<Witness> {
  const leave = new AbortController();
  const opened = Promise.withResolvers<void>();
  const seen: Seen[] = [];
  const noted = new Set<Noted>();
  let position = revision;
  let onMove = (): void => undefined;
  const follow = async (): Promise<void> => {
    while (!leave.signal.aborted) {
      const watched = await watch(notes, server, {
        selection: {},
        from: position,
        bookmarks: false,
        signal: leave.signal,
        onOpen: opened.resolve,
        onSeen(each) {
          seen.push(each);
          position = each.kind === 'event' ? each.version.revision : each.revision;
          onMove();
        },
      });
      noted.add(watched.noted);
    }
  };
  const ended = follow();
  await opened.promise;
  return {
    seen,
    noted,
    until(wanted, signal) {
      const { promise, resolve } = Promise.withResolvers<void>();
      onMove = () => {
        if (position >= wanted || signal.aborted) resolve();
      };
      signal.addEventListener('abort', onMove, { once: true });
      onMove();
      return promise;
    },
    async stop() {
      leave.abort();
      await ended;
    },
  };
}

interface ControlledClosing extends Closing {
  /** All watches are there that are to see the end. */
  readonly allOpen: Promise<void>;
  end(lastOf: (selection: Selection) => number): void;
}

function createClosing(clients: number): ControlledClosing {
  const waiting = new Set(Array.from({ length: clients }, (_, index) => index).filter(isWatching));
  const open = Promise.withResolvers<void>();
  const last = Promise.withResolvers<(selection: Selection) => number>();
  const late = new AbortController();
  return {
    opened(client) {
      waiting.delete(client);
      if (waiting.size === 0) open.resolve();
    },
    allOpen: open.promise,
    lastOf: last.promise,
    late: late.signal,
    end(lastRevisionOf) {
      setTimeout(() => late.abort(), LATE_MS).unref();
      last.resolve(lastRevisionOf);
    },
  };
}

function lastOf(
  seen: readonly Seen[],
  before: readonly Version[],
  end: number,
): (selection: Selection) => number {
  const changes = changesOf(seen, before, []);
  return (selection) =>
    changes.findLast(
      (change) => change.version.revision <= end && expectedOf(selection, change) !== undefined,
    )?.version.revision ?? 0;
}

function historyOf(
  notes: Notes & { readonly listings: readonly Listing[] },
  witnesses: readonly Witness[],
  rest: Pick<History, 'seed' | 'before' | 'end'>,
): History {
  const own = new Set(witnesses.flatMap(({ noted }) => [...noted]));
  return {
    ...rest,
    writes: notes.writes,
    gets: notes.gets,
    listings: notes.listings,
    watchings: notes.watchings.filter((noted) => !own.has(noted)),
    witnesses: witnesses.map(({ seen }) => seen),
  };
}
