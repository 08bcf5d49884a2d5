/** Workload of a client: random writes to a few shared objects, reads of every kind, one watch at a time. */
import { createRandom, type Random } from '../../testing/random.ts';
import {
  collectionPath,
  get,
  type ListBody,
  type Notes,
  notice,
  objectPath,
  read as readPath,
  type Server,
  selectorQuery,
  versionOf,
  watch,
  write,
} from './client.ts';
import { type Change, changed, type Key, type Listing, type Selection, type Version } from './history.ts';

export interface Workload {
  readonly notes: Notes & { readonly listings: Listing[] };
  readonly servers: readonly Server[];
  readonly random: Random;
  readonly namespaces: readonly string[];
  /** Fires at the end of the run. */
  readonly signal: AbortSignal;
  readonly closing: Closing;
}

/** How the watches end that are to see everything. */
export interface Closing {
  /** Such a watch of the client sees what changes from now on. */
  opened(client: number): void;
  /** Known after all writers have ended: the last revision that a watch of a selection reports. */
  readonly lastOf: Promise<(selection: Selection) => number>;
  /** Fires when a watch that hasn't seen it by now never will. */
  readonly late: AbortSignal;
}

const OBJECTS = 12;
const COLORS = ['red', 'green', 'blue'];
/** Of the clients that watch, those whose first watch is never ended by the client. */
const STEADY = 8;
const PATCH_TYPES = ['merge-patch', 'strategic-merge-patch', 'json-patch'];
/** Of a hundred writes, those whose client goes away. */
const ABANDONED = 3;

/** State of a client between its requests. */
interface Client {
  readonly name: string;
  readonly known: Map<Key, Version>;
  count: number;
}

type Act = (work: Workload, client: Client) => Promise<void>;

/** Some clients only write and read. */
export const isWatching = (index: number): boolean => index % 4 !== 3;

export async function runClient(all: Workload, index: number): Promise<void> {
  // The choices of a client depend only on the seed and its responses.
  const work = { ...all, random: createRandom(all.random.seed + index) };
  const client: Client = { name: `c${index}`, known: new Map(), count: 0 };
  const acts: readonly Act[] = [create, update, update, patch, patch, apply, remove, read, read, list];
  const watching = isWatching(index)
    ? watchOn({ ...all, random: createRandom(all.random.seed - index - 1) }, index)
    : undefined;
  await Promise.all([watching, repeat(work, () => work.random.pick(acts)(work, client))]);
}

async function repeat({ signal }: Workload, step: () => Promise<void>): Promise<void> {
  while (!signal.aborted) await step();
}

const keyOf = ({ random, namespaces }: Workload): Key =>
  `${random.pick(namespaces)}/o${random.below(OBJECTS)}`;

const serverOf = ({ random, servers }: Workload): Server => random.pick(servers);

function next(client: Client): string {
  client.count += 1;
  return `${client.name}.${client.count}`;
}

function maybeAbandon({ random }: Workload): { readonly abandonMs?: number } {
  return random.below(100) < ABANDONED ? { abandonMs: random.below(12) } : {};
}

/** Creates the client's change of an object: its own member, and sometimes the color. */
function changeBy({ random }: Workload, { name }: Client, id: string): Change {
  return {
    ...(random.below(3) === 0 ? { color: random.pick(COLORS) } : {}),
    data: { last: id, [name]: id },
  };
}

const bodyOf = (key: Key, { color, data }: Change, more: object = {}): object => {
  const [namespace, name] = key.split('/');
  return {
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: { name, namespace, ...(color === undefined ? {} : { labels: { color } }), ...more },
    data,
  };
};

function remember(client: Client, key: Key, version: Version | undefined): void {
  if (version === undefined) client.known.delete(key);
  else client.known.set(key, version);
}

const create: Act = async (work, client) => {
  const key = keyOf(work);
  const id = next(client);
  const value = { color: work.random.pick(COLORS), data: { last: id } };
  const version = await write(work.notes, serverOf(work), {
    id,
    key,
    intent: { kind: 'create', value },
    method: 'POST',
    path: collectionPath(key.split('/')[0]),
    body: bodyOf(key, value),
    ...maybeAbandon(work),
  });
  if (version !== undefined) remember(client, key, version);
};

/** Read, change, write: with the revision that was read, or without. */
const update: Act = async (work, client) => {
  const key = keyOf(work);
  const { random, notes } = work;
  const known =
    random.below(3) === 0 ? client.known.get(key) : await get(notes, serverOf(work), key, 'newest');
  if (known === undefined) return create(work, client);
  const id = next(client);
  const value = changed(known.value, changeBy(work, client, id));
  const base = random.below(4) > 0 ? known.revision : undefined;
  const version = await write(notes, serverOf(work), {
    id,
    key,
    intent: { kind: 'update', value, ...(base === undefined ? {} : { base }) },
    method: 'PUT',
    path: objectPath(key),
    body: bodyOf(key, value, base === undefined ? {} : { resourceVersion: String(base) }),
    ...maybeAbandon(work),
  });
  remember(client, key, version);
};

function patchBody(type: string, { color, data }: Change, base: number | undefined): unknown {
  if (type !== 'json-patch') {
    return {
      metadata: {
        ...(color === undefined ? {} : { labels: { color } }),
        ...(base === undefined ? {} : { resourceVersion: String(base) }),
      },
      data,
    };
  }
  return [
    ...(base === undefined
      ? []
      : [{ op: 'replace', path: '/metadata/resourceVersion', value: String(base) }]),
    ...(color === undefined ? [] : [{ op: 'add', path: '/metadata/labels/color', value: color }]),
    ...Object.entries(data).map(([name, value]) => ({ op: 'add', path: `/data/${name}`, value })),
  ];
}

const patch: Act = async (work, client) => {
  const key = keyOf(work);
  const { random, notes } = work;
  const id = next(client);
  const change = changeBy(work, client, id);
  const type = random.pick(PATCH_TYPES);
  const base = random.below(4) === 0 ? client.known.get(key)?.revision : undefined;
  const version = await write(notes, serverOf(work), {
    id,
    key,
    intent: { kind: 'patch', change, ...(base === undefined ? {} : { base }) },
    method: 'PATCH',
    path: objectPath(key),
    body: patchBody(type, change, base),
    type: `application/${type}+json`,
    ...maybeAbandon(work),
  });
  remember(client, key, version);
};

const apply: Act = (work, client) =>
  applyTo(work, client, keyOf(work), work.random.pick(COLORS), maybeAbandon(work));

async function applyTo(
  work: Workload,
  client: Client,
  key: Key,
  color: string,
  more: { readonly abandonMs?: number } = {},
): Promise<void> {
  const id = next(client);
  const change = { color, data: { last: id, applied: id } };
  const version = await write(work.notes, serverOf(work), {
    id,
    key,
    intent: { kind: 'apply', change },
    method: 'PATCH',
    // All clients are one manager, which always says the same fields.
    path: `${objectPath(key)}?fieldManager=all&force=true`,
    body: bodyOf(key, change),
    type: 'application/apply-patch+yaml',
    ...more,
  });
  remember(client, key, version);
}

const remove: Act = async (work, client) => {
  const key = keyOf(work);
  const base = work.random.below(3) === 0 ? client.known.get(key)?.revision : undefined;
  await write(work.notes, serverOf(work), {
    id: next(client),
    key,
    intent: { kind: 'delete', ...(base === undefined ? {} : { base }) },
    method: 'DELETE',
    path: objectPath(key),
    ...(base === undefined ? {} : { body: { preconditions: { resourceVersion: String(base) } } }),
    ...maybeAbandon(work),
  });
  client.known.delete(key);
};

const read: Act = async (work, client) => {
  const key = keyOf(work);
  const { random, notes } = work;
  const freshness = random.pick(['newest', 'newest', 'any', notes.newest] as const);
  const found = await get(notes, serverOf(work), key, freshness);
  if (freshness === 'newest') remember(client, key, found);
};

function selectionOf({ random, namespaces }: Workload): Selection {
  return {
    ...(random.below(2) === 0 ? { namespace: random.pick(namespaces) } : {}),
    ...(random.below(2) === 0 ? { color: random.pick(COLORS) } : {}),
    ...(random.below(6) === 0 ? { name: `o${random.below(OBJECTS)}` } : {}),
  };
}

/** State that a list requests. */
interface Wanted {
  readonly query: Readonly<Record<string, string>>;
  readonly floor: number;
  readonly exact?: number;
}

function wantedState(newest: number, random: Random, limited: boolean): Wanted {
  const at = String(newest);
  const choices: readonly Wanted[] = [
    { query: {}, floor: newest },
    { query: {}, floor: newest },
    { query: { resourceVersion: '0' }, floor: 0 },
    { query: { resourceVersion: at, resourceVersionMatch: 'NotOlderThan' }, floor: newest },
    { query: { resourceVersion: at, resourceVersionMatch: 'Exact' }, floor: newest, exact: newest },
    { query: { resourceVersion: at }, floor: newest, ...(limited ? { exact: newest } : {}) },
  ];
  return random.pick(choices);
}

const list: Act = async (work) => {
  const { notes, random } = work;
  const selection = selectionOf(work);
  const limit = random.below(3) === 0 ? 0 : 1 + random.below(OBJECTS);
  const { query: state, floor, exact } = wantedState(notes.newest, random, limit > 0);
  const revisions: number[] = [];
  const items: Version[] = [];
  const remaining: { seen: number; left: number }[] = [];
  const query = selectorQuery(selection);
  if (limit > 0) query.set('limit', String(limit));
  for (const [name, value] of Object.entries(state)) query.set(name, value);
  for (;;) {
    const path = `${collectionPath(selection.namespace)}?${query.toString()}`;
    const reply = await readPath(notes, serverOf(work), path);
    if (reply === undefined) return;
    const { status, body } = reply;
    if (status !== 200) {
      notes.surprises.push(`list ${path}: ${JSON.stringify(body)}`);
      return;
    }
    const { metadata, items: page } = body as ListBody;
    revisions.push(Number(metadata.resourceVersion));
    items.push(...page.map(versionOf));
    if (metadata.remainingItemCount !== undefined) {
      remaining.push({ seen: items.length, left: metadata.remainingItemCount });
    }
    if (metadata.continue === undefined || metadata.continue === '') break;
    query.delete('resourceVersion');
    query.delete('resourceVersionMatch');
    query.set('continue', metadata.continue);
  }
  notice(notes, revisions[0] ?? 0);
  notes.listings.push({
    selection,
    floor,
    ...(exact === undefined ? {} : { exact }),
    revisions,
    items,
    remaining,
  });
};

/** One watch after the other, resumed or begun anew, ended by either side; at last one that sees everything. */
async function watchOn(work: Workload, index: number): Promise<void> {
  const { random, notes, signal } = work;
  if (index % STEADY === 0) return watchToEnd(work, index, selectionOf(work), 0);
  let selection = selectionOf(work);
  let position = 0;
  while (!signal.aborted) {
    const resume = position > 0 && random.below(3) > 0;
    if (!resume) selection = selectionOf(work);
    const from = resume ? position : random.pick(['state', 'state', 'any', notes.newest] as const);
    const leave = new AbortController();
    const timer = setTimeout(() => leave.abort(), 50 + random.below(2000));
    const watched = await watch(notes, serverOf(work), {
      selection,
      from,
      bookmarks: random.below(2) === 0,
      initialEvents: typeof from !== 'number' && random.below(3) === 0,
      ...(random.below(2) === 0 ? { timeoutSeconds: 1 } : {}),
      signal: AbortSignal.any([leave.signal, signal]),
    });
    clearTimeout(timer);
    position = watched.position;
  }
  await watchToEnd(work, index, selection, position);
}

/** Resumes a watch, as often as the server closes it, until it has seen everything. */
async function watchToEnd(work: Workload, index: number, selection: Selection, start: number): Promise<void> {
  const { notes, closing } = work;
  const enough = new AbortController();
  let position = start;
  let last = Number.POSITIVE_INFINITY;
  const look = (): void => {
    if (position >= last) enough.abort();
  };
  const learn = async (): Promise<void> => {
    last = (await closing.lastOf)(selection);
    look();
  };
  const signal = AbortSignal.any([enough.signal, closing.late]);
  const learned = learn();
  while (!signal.aborted) {
    const { noted } = await watch(notes, serverOf(work), {
      selection,
      from: position > 0 ? position : 'state',
      bookmarks: false,
      signal,
      onOpen: () => closing.opened(index),
      onSeen(seen) {
        position = seen.kind === 'event' ? Math.max(position, seen.version.revision) : seen.revision;
        look();
      },
    });
    noted.complete = signal.aborted;
  }
  await learned;
}

/** Writes to every object, with each color: every selection has something to see. */
export async function writeToAll(work: Workload): Promise<void> {
  const client: Client = { name: 'last', known: new Map(), count: 0 };
  for (const color of COLORS) {
    const keys = work.namespaces.flatMap((namespace) =>
      Array.from({ length: OBJECTS }, (_, index): Key => `${namespace}/o${index}`),
    );
    await Promise.all(keys.map((key) => applyTo(work, client, key, color)));
  }
}
