/** The whole cache against a model: random writes, lists at random revisions, watchers that start and
 *  stop. */

import { isDeepStrictEqual } from 'node:util';
import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { formatLabelSelector, matchesLabels, parseLabelSelector } from '#api/meta/selectors.ts';
import { StoreError } from '../store/contract.ts';
import { type CacheFixture, createCacheFixture, lineEncoder, settle } from './cache.fixture.ts';
import { type ByteSink, CacheError, type EventEncoder, type Selection, type Watch } from './contract.ts';
import { compareKeys } from './state/ordered.ts';

/** A state: revision and labels by key. */
type State = ReadonlyMap<string, { readonly revision: number; readonly label: string }>;

const APPS = ['x', 'y', 'z'] as const;
const KEYS = ['a/1', 'a/2', 'a-b/1', 'b/1', 'b/2', 'b/3', 'c/1'] as const;
const SELECTIONS: readonly Selection[] = [
  { labels: [], fields: [] },
  { labels: parseLabelSelector('app=x'), fields: [] },
  { labels: parseLabelSelector('app!=x'), fields: [] },
  { namespace: 'b', labels: [], fields: [] },
  { namespace: 'a', labels: parseLabelSelector('app in (y,z)'), fields: [] },
  { labels: [], fields: [{ field: 'spec.nodeName', equal: true, value: 'x' }] },
];

type Action =
  | { readonly kind: 'write'; readonly key: string; readonly app: string }
  | { readonly kind: 'remove'; readonly key: string }
  | { readonly kind: 'watch'; readonly selection: number; readonly back: number; readonly state: boolean }
  | { readonly kind: 'leave'; readonly which: number }
  | { readonly kind: 'list'; readonly selection: number; readonly back: number; readonly limit: number }
  | { readonly kind: 'turn' }
  | { readonly kind: 'break'; readonly compact: boolean };

const key = fc.constantFrom(...KEYS);
const selection = fc.nat(SELECTIONS.length - 1);
const back = fc.nat(20);
const action: fc.Arbitrary<Action> = fc.oneof(
  { weight: 12, arbitrary: fc.record({ kind: fc.constant('write'), key, app: fc.constantFrom(...APPS) }) },
  { weight: 4, arbitrary: fc.record({ kind: fc.constant('remove'), key }) },
  { weight: 3, arbitrary: fc.record({ kind: fc.constant('watch'), selection, back, state: fc.boolean() }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('leave'), which: fc.nat(9) }) },
  {
    weight: 2,
    arbitrary: fc.record({
      kind: fc.constant('list'),
      selection,
      back,
      limit: fc.integer({ min: 1, max: 4 }),
    }),
  },
  { weight: 3, arbitrary: fc.record({ kind: fc.constant('turn') }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('break'), compact: fc.boolean() }) },
) as fc.Arbitrary<Action>;

function selected(state: State, { namespace, labels, fields }: Selection): State {
  const chosen = [...state].filter(
    ([at, { label }]) =>
      (namespace === undefined || at.startsWith(`${namespace}/`)) &&
      matchesLabels(labels, { app: label }) &&
      fields.every(({ value }) => value === label),
  );
  return new Map(chosen.sort(([a], [b]) => compareKeys(a, b)));
}

/** Records violations. A sink that threw would only be disconnected. */
type Must = (holds: boolean, what: string) => void;

/** A client that applies the events of a watch and records impossible ones. */
class Client implements ByteSink {
  readonly selection: Selection;
  readonly #must: Must;
  readonly known = new Map<string, number>();
  position: number;
  ended: string | undefined;
  watch: Watch | undefined;

  constructor(must: Must, state: State, wanted: Selection, position: number) {
    this.#must = must;
    this.selection = wanted;
    this.position = position;
    for (const [at, { revision }] of selected(state, wanted)) this.known.set(at, revision);
  }

  write(bytes: Buffer): void {
    for (const line of bytes.toString().trimEnd().split('\n')) {
      const [type = '', at = '', text] = line.split(' ');
      const revision = Number(text);
      if (type === 'BOOKMARK') {
        this.position = revision;
        continue;
      }
      // Synthetic events arrive in key order; then revisions rise.
      if (this.position >= 0) {
        this.#must(revision > this.position, `${line} comes after ${this.position}`);
        this.position = revision;
      }
      this.#must(
        this.known.has(at) === (type !== 'ADDED'),
        `${line} event for a known object: ${this.known.has(at)}`,
      );
      if (type === 'DELETED') this.known.delete(at);
      else this.known.set(at, revision);
    }
  }

  end(reason: string): void {
    this.ended = reason;
  }
}

class World {
  readonly fixture: CacheFixture;
  /** The state at each revision. */
  readonly states: State[] = [new Map(), new Map()];
  readonly clients: Client[] = [];
  readonly errors: string[] = [];
  /** Number of watchers that were found consistent. */
  checked = 0;
  readonly #must: Must = (holds, what) => {
    if (!holds) this.errors.push(what);
  };

  constructor(fixture: CacheFixture) {
    this.fixture = fixture;
  }

  get newest(): number {
    return this.states.length - 1;
  }

  stateAt(revision: number): State {
    return this.states[revision] ?? new Map();
  }

  async write(at: string, app: string): Promise<void> {
    const revision = await this.fixture.put(at, { labels: { app }, node: app });
    this.states[revision] = new Map([...this.stateAt(revision - 1), [at, { revision, label: app }]]);
  }

  async remove(at: string): Promise<void> {
    if (!this.stateAt(this.newest).has(at)) return;
    const revision = await this.fixture.remove(at);
    const next = new Map(this.stateAt(revision - 1));
    next.delete(at);
    this.states[revision] = next;
  }

  watch({ selection: index, back: steps, state }: Action & { readonly kind: 'watch' }): void {
    const { pods, cache } = this.fixture;
    const wanted = SELECTIONS[index] ?? SELECTIONS[0];
    if (wanted === undefined) return;
    const revision = Math.max(1, cache.revision - steps);
    const start = state ? ({ kind: 'state' } as const) : ({ kind: 'revision', revision } as const);
    const client = state
      ? new Client(this.#must, new Map(), wanted, -1)
      : new Client(this.#must, this.stateAt(revision), wanted, revision);
    const encoder: EventEncoder = { ...lineEncoder, id: `lines ${steps % 2}` };
    try {
      client.watch = pods.watch(
        { ...wanted, start, bookmarks: true, markInitialEnd: state },
        encoder,
        client,
      );
      this.clients.push(client);
    } catch (error) {
      if (!(error instanceof CacheError)) throw error;
      this.#must(error.reason === 'expired', `watch from ${revision} of ${this.newest}: ${error.reason}`);
    }
  }

  /** Reads all pages of a list; between pages the newest state may change, but all pages show one state. */
  async list({ selection: index, back: steps, limit }: Action & { readonly kind: 'list' }): Promise<void> {
    const wanted = SELECTIONS[index] ?? SELECTIONS[0];
    if (wanted === undefined) return;
    const revision = Math.max(1, this.fixture.cache.revision - steps);
    const seen: (readonly [string, number])[] = [];
    let after: string | undefined;
    try {
      do {
        const page = await this.fixture.pods.list({
          ...wanted,
          revision,
          limit,
          ...(after === undefined ? {} : { after }),
        });
        this.#must(page.revision === revision, `page of ${revision} shows ${page.revision}`);
        seen.push(...page.items.map((item) => [item.key, item.revision] as const));
        const left = selected(this.stateAt(revision), wanted).size - seen.length;
        this.#must((page.remaining ?? left) === left, `page says ${page.remaining} are left of ${left}`);
        this.#must((page.next !== undefined) === left > 0, `page goes on though ${left} are left`);
        after = page.next;
        await this.write(KEYS[steps % KEYS.length] ?? KEYS[0], 'x');
      } while (after !== undefined);
    } catch (error) {
      if (!(error instanceof CacheError)) throw error;
      this.#must(error.reason === 'expired', `list of ${revision}: ${error.reason}`);
      return;
    }
    const expected = [...selected(this.stateAt(revision), wanted)].map(([at, object]) => [
      at,
      object.revision,
    ]);
    this.#must(isDeepStrictEqual(seen, expected), `list of ${revision}: ${JSON.stringify([seen, expected])}`);
  }

  /** Interrupts the store's watch, perhaps together with the history needed to resume, and restores it. */
  async break(compact: boolean): Promise<void> {
    this.fixture.store.endWatches(new StoreError('unavailable', 'gone'));
    await this.write('c/1', 'y');
    await this.remove('b/2');
    await this.write('b/2', 'z');
    if (compact) await this.fixture.store.compact(this.newest);
    await this.fixture.clock.advance(20_000);
    await settle();
    this.#must(this.fixture.cache.synced, 'synced after a break');
  }

  /** After all events are delivered, every remaining client knows the state that a list shows. */
  async check(): Promise<void> {
    await settle(6);
    const { pods, cache } = this.fixture;
    this.#must(cache.revision === this.newest, `cache is at ${cache.revision} of ${this.newest}`);
    for (const client of this.clients) {
      if (client.watch === undefined || client.ended !== undefined) continue;
      const page = await pods.list(client.selection);
      const what = `labels '${formatLabelSelector(client.selection.labels)}'`;
      const listed = page.items.map((item) => [item.key, item.revision] as const);
      const known = [...client.known].sort(([a], [b]) => compareKeys(a, b));
      const truth = [...selected(this.stateAt(this.newest), client.selection)];
      const expected = truth.map(([at, { revision }]) => [at, revision] as const);
      this.#must(isDeepStrictEqual(listed, expected), `${what}: list ${JSON.stringify([listed, expected])}`);
      this.#must(isDeepStrictEqual(known, expected), `${what}: watch ${JSON.stringify([known, expected])}`);
      this.checked += 1;
    }
  }

  async run(step: Action): Promise<void> {
    switch (step.kind) {
      case 'write':
        return this.write(step.key, step.app);
      case 'remove':
        return this.remove(step.key);
      case 'watch':
        return this.watch(step);
      case 'leave': {
        const client = this.clients[step.which];
        client?.watch?.finish();
        if (client !== undefined) client.watch = undefined;
        return;
      }
      case 'list':
        return this.list(step);
      case 'turn':
        return settle(1);
      case 'break':
        return this.break(step.compact);
      default:
        step satisfies never;
    }
  }
}

describe('the cache', () => {
  test.each([
    ['with a long history', 100_000],
    ['with a short history', 8],
  ])(
    'shows true states to lists and watchers, %s',
    async (_what, historyChanges) => {
      let checked = 0;
      await fc.assert(
        fc.asyncProperty(fc.array(action, { minLength: 20, maxLength: 120, size: 'max' }), async (steps) => {
          await using fixture = createCacheFixture({ historyChanges });
          await fixture.start();
          const world = new World(fixture);
          for (const step of steps) await world.run(step);
          await world.check();
          expect(world.errors).toEqual([]);
          checked += world.checked;
        }),
        { numRuns: 40 },
      );
      expect(checked).toBeGreaterThan(40);
    },
    30_000,
  );
});
