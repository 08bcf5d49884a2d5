/** Pool of values, each allocated at most once among all servers that share the store: the owner of a value
 *  owns its key, which is created by compare-and-set. Holds nothing in memory. */
import { Buffer } from 'node:buffer';
import type { Store } from '../../../store/contract.ts';

/** Values of a pool, in order. */
export interface PoolSpace {
  /** Keys of the pool start with it: `/ranges/services/ips/IPv4/`. */
  readonly prefix: string;
  readonly size: number;
  /** Number of first values that are only allocated at random once no other is left. Default 0. */
  readonly reserved?: number;
  /** `index` is 0 to `size` - 1. */
  textOf(index: number): string;
  /** `undefined` if the pool has no such value. */
  indexOf(text: string): number | undefined;
  /** For people: `10.0.0.0/24`, `30000-32767`. */
  readonly description: string;
}

export interface PoolDeps {
  readonly store: Pick<Store, 'get' | 'range' | 'put' | 'delete'>;
  /** 0 up to, not including, 1. */
  readonly random: () => number;
  readonly now: () => number;
}

export interface PoolEntry {
  readonly text: string;
  /** `namespace/name` of the service. */
  readonly owner: string;
  readonly takenAtMs: number;
  readonly revision: number;
}

export type TakeResult = 'taken' | 'occupied' | 'outside';

export interface Pool {
  readonly space: PoolSpace;
  /** Allocates this value. `occupied` even if the owner already has it. */
  take(text: string, owner: string): Promise<TakeResult>;
  /** Allocates a random value; `undefined` if the pool is exhausted. */
  takeAny(owner: string): Promise<string | undefined>;
  /** Gives a value back, if this owner has it. */
  free(text: string, owner: string): Promise<void>;
  entries(): Promise<readonly PoolEntry[]>;
  /** Releases the value of an entry, unless the entry has changed. */
  discard(entry: PoolEntry): Promise<void>;
}

/** Tries before the pool is looked through: even nine tenths full, most requests end here. */
const RANDOM_TRIES = 16;

function decodeEntry(text: string, value: Buffer, revision: number): PoolEntry {
  const parsed: unknown = JSON.parse(value.toString('utf8'));
  const entry = typeof parsed === 'object' && parsed !== null ? parsed : {};
  return {
    text,
    owner: 'owner' in entry && typeof entry.owner === 'string' ? entry.owner : '',
    takenAtMs: 'takenAtMs' in entry && typeof entry.takenAtMs === 'number' ? entry.takenAtMs : 0,
    revision,
  };
}

export function createPool({ store, random, now }: PoolDeps, space: PoolSpace): Pool {
  const keyOf = (text: string): string => `${space.prefix}${text}`;

  async function put(text: string, owner: string): Promise<boolean> {
    const value = Buffer.from(JSON.stringify({ owner, takenAtMs: now() }));
    const result = await store.put(keyOf(text), value, 'absent');
    return result.ok;
  }

  async function entries(): Promise<readonly PoolEntry[]> {
    const { items } = await store.range(space.prefix);
    return items.map(({ key, value, revision }) =>
      decodeEntry(key.slice(space.prefix.length), value, revision),
    );
  }

  const { reserved = 0 } = space;

  /** A random value that is not reserved. */
  const randomIndex = (): number => reserved + Math.floor(random() * (space.size - reserved));

  /** Searches free values from a random position, the reserved ones last; other servers may allocate them
   *  first. */
  async function takeFirstFree(owner: string): Promise<string | undefined> {
    const used = new Set((await entries()).map(({ text }) => text));
    const free = async (first: number, count: number): Promise<string | undefined> => {
      const start = Math.floor(random() * count);
      for (let step = 0; step < count; step += 1) {
        const text = space.textOf(first + ((start + step) % count));
        if (!used.has(text) && (await put(text, owner))) return text;
      }
      return undefined;
    };
    return (await free(reserved, space.size - reserved)) ?? free(0, reserved);
  }

  return {
    space,
    entries,
    async take(text, owner) {
      const index = space.indexOf(text);
      if (index === undefined) return 'outside';
      return (await put(space.textOf(index), owner)) ? 'taken' : 'occupied';
    },
    async takeAny(owner) {
      if (space.size === 0) return undefined;
      for (let attempt = 0; attempt < RANDOM_TRIES; attempt += 1) {
        const text = space.textOf(randomIndex());
        if (await put(text, owner)) return text;
      }
      return takeFirstFree(owner);
    },
    async free(text, owner) {
      const index = space.indexOf(text);
      if (index === undefined) return;
      const key = keyOf(space.textOf(index));
      const item = await store.get(key);
      if (item === undefined || decodeEntry(text, item.value, item.revision).owner !== owner) return;
      await store.delete(key, item.revision);
    },
    async discard({ text, revision }) {
      await store.delete(keyOf(text), revision);
    },
  };
}
