/** Ordered collection of keyed items, in blocks, so that an insertion among 100,000 moves a few hundred at
 *  most. The order is that of the keys' UTF-8 bytes, as in the store. */

export interface Keyed {
  readonly key: string;
}

export interface Cursor<T> {
  /** Returns the next item; `undefined` at the end. Valid until the items change. */
  next(): T | undefined;
}

export interface Ordered<T extends Keyed> {
  readonly size: number;
  /** The key must be new. */
  add(item: T): void;
  remove(key: string): void;
  /** Iterates over the items after a key; over all without one. */
  after(key: string | undefined): Cursor<T>;
  /** Returns the number of keys before this one. */
  rank(key: string): number;
}

const BLOCK_MAX = 512;

/** Returns the index of the first item whose key is not before `key`. */
function lowerBound(block: readonly Keyed[], key: string): number {
  let low = 0;
  let high = block.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    const item = block[middle];
    if (item !== undefined && compareKeys(item.key, key) < 0) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** Returns the index of the block that holds `key` or would: the last one that starts at or before it. */
function blockOf(blocks: readonly (readonly Keyed[])[], key: string): number {
  let low = 0;
  let high = blocks.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    const first = blocks[middle]?.[0];
    if (first !== undefined && compareKeys(first.key, key) <= 0) low = middle + 1;
    else high = middle;
  }
  return Math.max(low - 1, 0);
}

function cursorAt<T>(blocks: readonly (readonly T[])[], atBlock: number, atIndex: number): Cursor<T> {
  let block = atBlock;
  let index = atIndex;
  return {
    next() {
      for (;;) {
        const items = blocks[block];
        if (items === undefined) return undefined;
        if (index < items.length) return items[index++];
        block += 1;
        index = 0;
      }
    },
  };
}

export function createOrdered<T extends Keyed>(): Ordered<T> {
  const blocks: T[][] = [];
  let size = 0;

  function add(item: T): void {
    size += 1;
    const at = blockOf(blocks, item.key);
    const block = blocks[at];
    if (block === undefined) {
      blocks.push([item]);
      return;
    }
    const index = lowerBound(block, item.key);
    if (block.length < BLOCK_MAX) block.splice(index, 0, item);
    // Insertions in order fill whole blocks.
    else if (index === block.length) blocks.splice(at + 1, 0, [item]);
    else {
      const upper = block.splice(BLOCK_MAX / 2);
      blocks.splice(at + 1, 0, upper);
      if (index <= block.length) block.splice(index, 0, item);
      else upper.splice(index - block.length, 0, item);
    }
  }

  function remove(key: string): void {
    const at = blockOf(blocks, key);
    const block = blocks[at];
    if (block === undefined) return;
    const index = lowerBound(block, key);
    if (block[index]?.key !== key) return;
    size -= 1;
    block.splice(index, 1);
    if (block.length === 0) blocks.splice(at, 1);
  }

  return {
    get size() {
      return size;
    },
    add,
    remove,
    after(key) {
      if (key === undefined) return cursorAt(blocks, 0, 0);
      const at = blockOf(blocks, key);
      const block = blocks[at] ?? [];
      const index = lowerBound(block, key);
      return cursorAt(blocks, at, block[index]?.key === key ? index + 1 : index);
    },
    rank(key) {
      const at = blockOf(blocks, key);
      let before = lowerBound(blocks[at] ?? [], key);
      for (let index = 0; index < at; index += 1) before += blocks[index]?.length ?? 0;
      return before;
    },
  };
}

const SURROGATE_FIRST = 0xd800;
const SURROGATE_LAST = 0xdfff;

/** Maps UTF-16 units to code point order: surrogates represent what comes after U+FFFF. */
function weight(unit: number): number {
  return unit >= SURROGATE_FIRST && unit <= SURROGATE_LAST ? unit + 0x10_000 : unit;
}

/** Returns a negative number, zero or a positive one if the bytes of `a` sort before, equal, or after those
 *  of `b`. */
export function compareKeys(a: string, b: string): number {
  const length = Math.min(a.length, b.length);
  for (let index = 0; index < length; index += 1) {
    const left = a.charCodeAt(index);
    const right = b.charCodeAt(index);
    if (left !== right) return weight(left) - weight(right);
  }
  return a.length - b.length;
}

/** Returns the first key after all keys of a namespace. */
export function endOfNamespace(namespace: string): string {
  // '0' follows '/'.
  return `${namespace}0`;
}
