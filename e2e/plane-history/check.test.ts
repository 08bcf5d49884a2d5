/** The checker itself: it accepts a true history, and finds each kind of error planted in it. */
import { describe, expect, test } from 'vitest';
import { findErrors } from './check.ts';
import {
  changed,
  type EventType,
  type Get,
  type History,
  type Intent,
  isSelected,
  type Listing,
  type Seen,
  type Selection,
  type Value,
  type Version,
  type Watching,
  type Write,
} from './history.ts';
import { type Change, changesOf } from './truth.ts';

type Done = Extract<Write['result'], { kind: 'done' }>;
type SeenEvent = Extract<Seen, { kind: 'event' }>;

/** A server that does one thing after the other, and notes all of it. */
function createModel() {
  const state = new Map<string, Version>();
  const writes: Write[] = [];
  const events: SeenEvent[] = [];
  let revision = 10;
  let nowMs = 0;

  function call<T>(work: () => T): T & { floor: number; beganMs: number; endedMs: number } {
    const floor = revision;
    nowMs += 2;
    return { ...work(), floor, beganMs: nowMs - 1, endedMs: nowMs };
  }
  function change(type: EventType, key: string, value: Value): Version {
    revision += 1;
    const uid = type === 'ADDED' ? `uid-${revision}` : (state.get(key)?.uid ?? '');
    const version = { key, revision, uid, value };
    events.push({ kind: 'event', type, version });
    if (type === 'DELETED') state.delete(key);
    else state.set(key, version);
    return version;
  }
  function resultOf(key: string, intent: Intent): Write['result'] {
    const live = state.get(key);
    if (intent.kind === 'create') {
      if (live !== undefined) return { kind: 'refused', status: 409, reason: 'AlreadyExists' };
      return { kind: 'done', version: change('ADDED', key, intent.value) };
    }
    if (intent.kind === 'apply') {
      const type = live === undefined ? 'ADDED' : 'MODIFIED';
      return { kind: 'done', version: change(type, key, changed(live?.value, intent.change)) };
    }
    if (live === undefined) return { kind: 'refused', status: 404, reason: 'NotFound' };
    if (intent.base !== undefined && intent.base !== live.revision) {
      return { kind: 'refused', status: 409, reason: 'Conflict' };
    }
    if (intent.kind === 'delete') {
      change('DELETED', key, live.value);
      return { kind: 'deleted', uid: live.uid };
    }
    const value = intent.kind === 'update' ? intent.value : changed(live.value, intent.change);
    return { kind: 'done', version: change('MODIFIED', key, value) };
  }
  return {
    state,
    writes,
    events,
    revision: () => revision,
    write(id: string, key: string, intent: Intent): void {
      writes.push(call(() => ({ id, key, intent, result: resultOf(key, intent) })));
    },
    get: (key: string): Get => call(() => ({ key, found: state.get(key) })),
    list(selection: Selection, exact?: number): Listing {
      const items = [...state.values()]
        .filter(({ key, value }) => isSelected(selection, key, value))
        .toSorted((a, b) => (a.key < b.key ? -1 : 1));
      const remaining = items.length > 1 ? [{ seen: 1, left: items.length - 1 }] : [];
      return {
        selection,
        floor: revision,
        revisions: [revision, revision],
        items,
        remaining,
        ...(exact === undefined ? {} : { exact }),
      };
    },
  };
}

const red = (last: string, more: Readonly<Record<string, string>> = {}): Value => ({
  color: 'red',
  data: { last, ...more },
});
const ADDED_FROM = 12;

/** Two objects made, changed and deleted, with every kind of read. */
function trueHistory(): History {
  const model = createModel();
  const gets: Get[] = [];
  const listings: Listing[] = [model.list({})];
  model.write('a.1', 'n/o1', { kind: 'create', value: red('a.1') });
  model.write('b.1', 'n/o1', { kind: 'create', value: red('b.1') });
  gets.push(model.get('n/o1'), model.get('n/o2'));
  model.write('a.2', 'n/o1', { kind: 'update', value: red('a.2', { a: 'a.2' }), base: 11 });
  model.write('b.2', 'n/o1', { kind: 'update', value: red('b.2'), base: 11 });
  model.write('b.3', 'n/o1', { kind: 'patch', change: { color: 'blue', data: { last: 'b.3', b: 'b.3' } } });
  model.write('a.3', 'm/o2', { kind: 'apply', change: { color: 'red', data: { last: 'a.3' } } });
  listings.push(model.list({}), model.list({ color: 'red' }), model.list({ namespace: 'n' }, 14));
  model.write('b.4', 'n/o1', { kind: 'patch', change: { color: 'red', data: { last: 'b.4', b: 'b.4' } } });
  model.write('a.4', 'm/o2', { kind: 'delete', base: 14 });
  model.write('b.5', 'm/o2', { kind: 'delete' });
  gets.push(model.get('n/o1'), model.get('m/o2'));
  listings.push(model.list({}), model.list({ color: 'blue' }));
  const { writes, events } = model;
  const watchings = [
    watchOf(events, {}, 10),
    watchOf(events, { color: 'red' }, ADDED_FROM),
    stateWatchOf(events, { namespace: 'n' }),
  ];
  return {
    seed: 0,
    before: [],
    end: model.revision(),
    writes,
    gets,
    listings,
    watchings,
    witnesses: [events, events],
  };
}

/** Written by hand, independently of the checker's messages. */
function watchOf(events: readonly SeenEvent[], selection: Selection, revision: number): Watching {
  const seen: Seen[] = [];
  const last = new Map<string, Value>();
  for (const event of events) {
    const { key, value } = event.version;
    const before = last.get(key);
    last.set(key, value);
    if (event.version.revision <= revision) continue;
    const was = before !== undefined && isSelected(selection, key, before);
    const is = isSelected(selection, key, value) && event.type !== 'DELETED';
    if (is) seen.push({ ...event, type: was ? 'MODIFIED' : 'ADDED' });
    else if (was) seen.push({ ...event, type: 'DELETED', version: { ...event.version, value: before } });
  }
  return { selection, start: { kind: 'revision', revision }, seen, complete: true };
}

function stateWatchOf(events: readonly SeenEvent[], selection: Selection): Watching {
  const initial = events.find(({ version }) => version.revision === 13);
  if (initial === undefined) throw new Error('nothing there');
  const rest = watchOf(events, selection, 13);
  const end: Seen = { kind: 'bookmark', revision: 13, initialEnd: true };
  return {
    ...rest,
    start: { kind: 'state', floor: 13 },
    seen: [{ ...initial, type: 'ADDED' }, end, ...rest.seen],
  };
}

type Plant = (history: History) => History;

const replaceAt = <T>(items: readonly T[], index: number, change: (item: T) => T): readonly T[] =>
  items.map((item, at) => (at === index ? change(item) : item));
const without = <T>(items: readonly T[], index: number): readonly T[] =>
  items.filter((_, at) => at !== index);

const inWrite =
  (id: string, change: (write: Write) => Write): Plant =>
  (history) => ({
    ...history,
    writes: history.writes.map((write) => (write.id === id ? change(write) : write)),
  });
const inDone = (id: string, change: (version: Version) => Version): Plant =>
  inWrite(id, (write) => ({
    ...write,
    result: { kind: 'done', version: change((write.result as Done).version) },
  }));
const inGet =
  (index: number, change: (get: Get) => Get): Plant =>
  (history) => ({ ...history, gets: replaceAt(history.gets, index, change) });
const inListing =
  (index: number, change: (listing: Listing) => Listing): Plant =>
  (history) => ({ ...history, listings: replaceAt(history.listings, index, change) });
const inWatching =
  (index: number, change: (seen: readonly Seen[]) => readonly Seen[]): Plant =>
  (history) => ({
    ...history,
    watchings: replaceAt(history.watchings, index, (each) => ({ ...each, seen: change(each.seen) })),
  });
/** In what all witnesses, and so the truth, say. */
const inEvents =
  (change: (seen: readonly Seen[]) => readonly Seen[]): Plant =>
  (history) => ({ ...history, witnesses: history.witnesses.map(change) });

const withData = (seen: Seen, data: Readonly<Record<string, string>>): Seen =>
  seen.kind === 'event'
    ? { ...seen, version: { ...seen.version, value: { ...seen.version.value, data } } }
    : seen;
const bookmark = (revision: number): Seen => ({ kind: 'bookmark', revision, initialEnd: false });

const ERRORS: readonly (readonly [string, Plant, RegExp])[] = [
  [
    'an acknowledged write is lost',
    (history) => inEvents((seen) => without(seen, 3))({ ...history, end: 15 }),
    /a\.3: responded with 14, but lost/,
  ],
  [
    'an update replaces another that it did not know',
    inEvents((seen) => replaceAt(seen, 2, (each) => withData(each, { last: 'b.3', b: 'b.3' }))),
    /b\.3 \(patch\) .* instead of/,
  ],
  [
    'a patch was made on an older state',
    inWrite('b.3', (write) => ({ ...write, intent: { ...write.intent, base: 11 } as Intent })),
    /b\.3 \(patch\) .* done on 12/,
  ],
  [
    'a refused write is done',
    inWrite('a.2', (write) => ({
      ...write,
      result: { kind: 'refused', status: 409, reason: 'Conflict' },
    })),
    /done although refused/,
  ],
  [
    'a write is done twice',
    inEvents((seen) => replaceAt(seen, 4, (each) => withData(each, { last: 'b.3', b: 'b.3', a: 'a.2' }))),
    /b\.3 was done twice/,
  ],
  [
    'an object exists without a write',
    inEvents((seen) => replaceAt(seen, 4, (each) => withData(each, { last: 'x.1' }))),
    /nobody wrote "x\.1"/,
  ],
  [
    'a response has another revision',
    inDone('b.3', (version) => ({ ...version, revision: 12 })),
    /responded with revision 12/,
  ],
  [
    'a response has another content',
    inDone('b.3', (version) => ({ ...version, value: red('b.3') })),
    /b\.3 .* responded with/,
  ],
  [
    'a write went to another object',
    inWrite('b.3', (write) => ({ ...write, key: 'n/o7' })),
    /meant for n\/o7/,
  ],
  [
    'a write is ordered before what was seen at its start',
    inWrite('b.3', (write) => ({ ...write, floor: 14 })),
    /ordered before/,
  ],
  [
    'a create is refused though nothing was there',
    inWrite('b.1', (write) => ({ ...write, key: 'n/o9' })),
    /b\.1 .* refused with 409 AlreadyExists on nothing/,
  ],
  [
    'an update is rejected without a conflict',
    inWrite('b.2', (write) => ({ ...write, intent: { ...write.intent, base: 12 } as Intent })),
    /b\.2 .* refused with 409 Conflict/,
  ],
  [
    'a deletion is not found though the object is there',
    inWrite('b.5', (write) => ({ ...write, key: 'n/o1' })),
    /b\.5 .* refused with 404 NotFound/,
  ],
  [
    'a deletion is lost',
    (history) => inEvents((seen) => without(seen, 5))({ ...history, end: 16 }),
    /a\.4: deletion of uid-14 is lost/,
  ],
  [
    'a deletion took away another version',
    inWrite('a.4', (write) => ({ ...write, intent: { kind: 'delete', base: 13 } })),
    /a\.4: deleted 14 instead of 13/,
  ],
  [
    'an object is deleted without a delete',
    (history) => ({ ...history, writes: history.writes.filter(({ id }) => id !== 'a.4') }),
    /nobody deleted uid-14/,
  ],
  [
    'two deletions of one object succeed',
    (history) =>
      inWrite('b.5', (write) => ({ ...write, result: { kind: 'deleted', uid: 'uid-14' } }))(history),
    /b\.5: uid-14 was deleted twice/,
  ],
  ['a get shows a later state', inGet(1, (get) => ({ ...get, key: 'm/o2', found: found(14) })), /get m\/o2/],
  ['a get shows an older state', inGet(2, (get) => ({ ...get, found: found(13) })), /get n\/o1 from 16: 13/],
  [
    'a get shows what was deleted',
    inGet(3, (get) => ({ ...get, found: found(14) })),
    /get m\/o2 from 16: 14/,
  ],
  [
    'a get shows a torn object',
    inGet(2, (get) => ({ ...get, found: { ...found(15), value: red('b.4') } })),
    /get n\/o1/,
  ],
  [
    'a list misses an object',
    inListing(1, (listing) => ({ ...listing, items: without(listing.items, 0), remaining: [] })),
    /list \{\}@14: n\/o1@13 instead of m\/o2@14 n\/o1@13/,
  ],
  [
    'a list has an object twice',
    inListing(3, (listing) => ({ ...listing, items: [...listing.items, ...listing.items] })),
    /instead of n\/o1@13/,
  ],
  [
    'a list mixes two states',
    inListing(1, (listing) => ({ ...listing, items: [found(14), found(12)] })),
    /m\/o2@14 n\/o1@12 instead of/,
  ],
  [
    'a list is out of order',
    inListing(1, (listing) => ({ ...listing, items: listing.items.toReversed() })),
    /n\/o1@13 m\/o2@14 instead of/,
  ],
  [
    'a list has what is not selected',
    inListing(2, (listing) => ({ ...listing, items: [...listing.items, found(13)] })),
    /list \{"color":"red"\}@14/,
  ],
  [
    'pages are of two states',
    inListing(4, (listing) => ({ ...listing, revisions: [16, 17] })),
    /pages of 16, 17/,
  ],
  ['a list is stale', inListing(1, (listing) => ({ ...listing, floor: 15 })), /older than what was seen, 15/],
  [
    'a list is of another revision',
    inListing(3, (listing) => ({ ...listing, exact: 13 })),
    /13 was requested/,
  ],
  [
    'what remains is miscounted',
    inListing(1, (listing) => ({ ...listing, remaining: [{ seen: 1, left: 2 }] })),
    /2 left after 1 of 2/,
  ],
  ['a watch has a gap', inWatching(0, (seen) => without(seen, 2)), /watch .*: ADDED m\/o2@14 instead of/],
  [
    'a watch has a duplicate',
    inWatching(0, (seen) => [...seen.slice(0, 3), ...seen.slice(2)]),
    /watch .*: MODIFIED n\/o1@13 instead of/,
  ],
  ['a watch is out of order', inWatching(0, (seen) => seen.toReversed()), /watch .* instead of/],
  ['a watch misses the last event', inWatching(0, (seen) => seen.slice(0, -1)), /never DELETED m\/o2@16/],
  ['a watch misses its first event', inWatching(0, (seen) => seen.slice(1)), /instead of ADDED n\/o1@11/],
  ['a watch sees nothing', inWatching(1, () => []), /never DELETED n\/o1@13/],
  [
    'a watch does not report that an object left its selection',
    inWatching(1, (seen) => without(seen, 0)),
    /instead of DELETED n\/o1@13/,
  ],
  [
    'a watch reports a return as a change',
    inWatching(1, (seen) => replaceAt(seen, 2, (each) => ({ ...(each as SeenEvent), type: 'MODIFIED' }))),
    /MODIFIED n\/o1@15 instead of ADDED n\/o1@15/,
  ],
  [
    'a watch shows what never was',
    inWatching(0, (seen) => replaceAt(seen, 1, (each) => withData(each, { last: 'a.2' }))),
    /MODIFIED n\/o1@12 instead of/,
  ],
  [
    'a bookmark comes before what it stands for',
    inWatching(0, (seen) => [...seen.slice(0, 2), bookmark(13), ...seen.slice(2)]),
    /bookmark 13 before MODIFIED n\/o1@13/,
  ],
  [
    'a bookmark goes back',
    inWatching(0, (seen) => [...seen.slice(0, 4), bookmark(12), ...seen.slice(4)]),
    /bookmark 12 after 14/,
  ],
  ['a state is incomplete', inWatching(2, (seen) => seen.slice(1)), /a bookmark among the state/],
  [
    'a state is old',
    inWatching(2, (seen) => replaceAt(seen, 0, () => ({ kind: 'event', type: 'ADDED', version: found(12) }))),
    /not of the state/,
  ],
  ['a state has an object twice', inWatching(2, (seen) => [...seen.slice(0, 1), ...seen]), /watch/],
  [
    'the end of the initial events is reported twice',
    inWatching(2, (seen) => [...seen, { kind: 'bookmark', revision: 16, initialEnd: true }]),
    /reported late/,
  ],
  [
    'one server reports another order',
    (history) => ({
      ...history,
      witnesses: history.witnesses.map((seen, index) => (index === 1 ? seen.toReversed() : seen)),
    }),
    /witnesses differ/,
  ],
  [
    'one server reports less',
    (history) => ({
      ...history,
      witnesses: history.witnesses.map((seen, index) => (index === 1 ? seen.slice(0, -1) : seen)),
    }),
    /witnesses differ/,
  ],
  [
    'revisions go back',
    inEvents((seen) => [...seen.slice(0, 3), ...seen.slice(1)]),
    /witness: .* came after/,
  ],
];

/** The version that was written at the revision. */
function found(revision: number): Version {
  const changes: readonly Change[] = changesOf(trueHistory().witnesses[0] ?? [], [], []);
  const change = changes.find(({ version }) => version.revision === revision);
  if (change === undefined) throw new Error(`nothing happened at ${revision}`);
  return change.version;
}

describe('findErrors', () => {
  test('finds none in a true history', () => {
    expect(findErrors(trueHistory())).toEqual([]);
  });

  test.each(ERRORS)('finds that %s', (_name, plant, error) => {
    expect(findErrors(plant(trueHistory())).join('\n')).toMatch(error);
  });

  test('takes a write whose client went away as done or not', () => {
    const unknown = (write: Write): Write => ({ ...write, result: { kind: 'unknown' } });
    expect(findErrors(inWrite('b.4', unknown)(trueHistory()))).toEqual([]);
    expect(findErrors(inWrite('a.4', unknown)(trueHistory()))).toEqual([]);
    const never = inWrite('b.1', unknown)(trueHistory());
    expect(findErrors(never)).toEqual([]);
  });

  test('takes a watch that was cut off as it is', () => {
    const [cut] = trueHistory().watchings;
    if (cut === undefined) throw new Error('no watch');
    const watchings = cut.seen.map((_, length) => ({
      ...cut,
      seen: cut.seen.slice(0, length),
      complete: false,
    }));
    expect(findErrors({ ...trueHistory(), watchings })).toEqual([]);
  });

  test('knows what was there before', () => {
    const version: Version = {
      key: 'system/authority',
      revision: 5,
      uid: 'u',
      value: { color: '', data: {} },
    };
    const history = trueHistory();
    const listings = history.listings.slice(0, 1).map((listing) => ({ ...listing, items: [version] }));
    expect(findErrors({ ...history, before: [version], listings })).toEqual([]);
    expect(findErrors({ ...history, before: [], listings })).not.toEqual([]);
  });
});
