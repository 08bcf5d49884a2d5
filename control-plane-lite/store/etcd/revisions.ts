/** Mapping between etcd's revisions and the store's.
 *
 *  etcd gives all writes of one transaction the same revision; here it is called a commit. The store
 *  guarantees each write a revision of its own, so that a watch can resume after any of them. So a write has
 *  a position in its commit, counted from the end: the last has none behind it, and a single write is the
 *  last. */
import { Buffer } from 'node:buffer';

/** Maximum number of writes of a commit. */
export const PLACES = 64;

export interface Marked {
  readonly value: Buffer;
  /** Number of writes of the same commit after this one. */
  readonly behind: number;
}

export function revisionOf(commit: number, behind = 0): number {
  return commit * PLACES - behind;
}

/** Returns the commit of the revision. */
export function commitOf(revision: number): number {
  return Math.ceil(revision / PLACES);
}

/** Returns the newest commit that is complete at the revision. */
export function wholeCommitAt(revision: number): number {
  return Math.floor(revision / PLACES);
}

/** First byte of a marked value; only binary values start with it. */
const MARK = 0;
const MARK_BYTES = 2;

/** Returns the value stored in etcd. The last of a commit is stored unchanged, unless it looks marked
 *  itself. */
export function mark({ value, behind }: Marked): Buffer {
  if (behind === 0 && value[0] !== MARK) return value;
  const marked = Buffer.allocUnsafe(MARK_BYTES + value.length);
  marked[0] = MARK;
  marked[1] = behind;
  value.copy(marked, MARK_BYTES);
  return marked;
}

export function unmark(bytes: Buffer): Marked {
  if (bytes[0] !== MARK) return { value: bytes, behind: 0 };
  return { value: bytes.subarray(MARK_BYTES), behind: bytes[1] ?? 0 };
}
