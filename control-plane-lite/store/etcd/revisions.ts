/** How etcd's revisions become the store's.
 *
 *  etcd gives all writes of one transaction the same revision; here it is called a commit. The store promises each
 *  write a revision of its own, so that whoever watched up to one of them can go on with the next. So a write has a
 *  place in its commit, counted from the end: the last has none behind it, and a write that is alone is the last. */
import { Buffer } from 'node:buffer';

/** Writes that one commit can have. */
export const PLACES = 64;

export interface Marked {
  readonly value: Buffer;
  /** Writes of the same commit that come after this one. */
  readonly behind: number;
}

export function revisionOf(commit: number, behind = 0): number {
  return commit * PLACES - behind;
}

/** The commit that the revision is of. */
export function commitOf(revision: number): number {
  return Math.ceil(revision / PLACES);
}

/** The newest commit of which everything was written at the revision. */
export function wholeCommitAt(revision: number): number {
  return Math.floor(revision / PLACES);
}

/** No value that the store is given begins so but those that say nothing in text. */
const MARK = 0;
const MARK_BYTES = 2;

/** The value as it lies in etcd. The last of a commit is as it was given, unless it looks marked itself. */
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
