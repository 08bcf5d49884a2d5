/** Allocates blocks of equal size from a range of IP addresses. Source: upstream's CIDR set, release 1.24. */
import type { IpRange } from '#api/meta/ip.ts';

export interface BlockRange {
  readonly range: IpRange;
  /** Prefix of a block. */
  readonly blockBits: number;
}

/** First and last index of the blocks that a range touches. */
interface Span {
  readonly begin: number;
  readonly end: number;
}

export interface Blocks {
  /** Occupies the next free block for the owner; `undefined`: there is none. */
  allocate(owner: string): IpRange | undefined;
  /** Occupies all blocks that the range touches. Returns false if it is outside. An owner occupies one range. */
  occupy(owner: string, range: IpRange): boolean;
  release(owner: string): void;
}

const ADDRESS_BITS = { IPv4: 32, IPv6: 128 } as const;

const isSingle = ({ begin, end }: Span): boolean => begin === end;

export function createBlocks({ range, blockBits }: BlockRange): Blocks {
  const { family } = range;
  const blockSize = 1n << BigInt(ADDRESS_BITS[family] - blockBits);
  const count = Number(range.size / blockSize);
  const owned = new Map<string, Span>();
  /** Number of owners of single blocks, by index. */
  const single = new Map<number, number>();
  /** Larger ones; there are few. */
  const wide = new Map<string, Span>();
  let cursor = 0;

  function spanOf(other: IpRange): Span | undefined {
    if (other.family !== family) return undefined;
    const [first, last] = [other.first - range.first, other.first + other.size - 1n - range.first];
    if (last < 0n || first >= range.size) return undefined;
    const begin = first < 0n ? 0 : Number(first / blockSize);
    const end = last >= range.size ? count - 1 : Number(last / blockSize);
    return { begin, end };
  }

  function release(owner: string): void {
    const span = owned.get(owner);
    if (span === undefined) return;
    owned.delete(owner);
    wide.delete(owner);
    if (!isSingle(span)) return;
    const left = (single.get(span.begin) ?? 1) - 1;
    if (left === 0) single.delete(span.begin);
    else single.set(span.begin, left);
  }

  function own(owner: string, span: Span): void {
    release(owner);
    owned.set(owner, span);
    if (isSingle(span)) single.set(span.begin, (single.get(span.begin) ?? 0) + 1);
    else wide.set(owner, span);
  }

  /** Returns the first free index from `start` on, before `limit`. */
  function freeFrom(start: number, limit: number): number | undefined {
    let index = start;
    while (index < limit) {
      const at = index;
      const over = [...wide.values()].find(({ begin, end }) => begin <= at && at <= end);
      if (over !== undefined) index = over.end + 1;
      else if (single.has(at)) index += 1;
      else return at;
    }
    return undefined;
  }

  return {
    allocate(owner) {
      const index = freeFrom(cursor, count) ?? freeFrom(0, cursor);
      if (index === undefined) return undefined;
      cursor = (index + 1) % count;
      own(owner, { begin: index, end: index });
      return {
        family,
        first: range.first + BigInt(index) * blockSize,
        size: blockSize,
        prefixBits: blockBits,
      };
    },
    occupy(owner, other) {
      const span = spanOf(other);
      if (span !== undefined) own(owner, span);
      return span !== undefined;
    },
    release,
  };
}
