/** Reads the keys under a prefix, page by page, at one revision. */
import { Buffer } from 'node:buffer';
import type { DecodedMessage } from '#api/codec/protobuf/fields.ts';
import type { RangeOptions, RangeResult, StoredItem } from '../contract.ts';
import type { Keys } from './keys.ts';
import { headerRevision, messagesIn } from './messages.ts';
import { commitOf, revisionOf, wholeCommitAt } from './revisions.ts';

/** Requests a `RangeResponse`. */
type CallRange = (request: object) => Promise<DecodedMessage>;

/** Target size of a page in bytes, and its maximum and initial number of items: values can be large. */
const PAGE_BYTES = 4 * 1024 * 1024;
const LONGEST_PAGE = 2000;
const FIRST_PAGE = 100;

/** @throws StoreError `compacted` or `future` if the revision is not available */
export async function readRange(
  call: CallRange,
  keys: Keys,
  prefix: string,
  options: RangeOptions,
): Promise<RangeResult> {
  const { revision } = options;
  if (revision === undefined || commitOf(revision) === wholeCommitAt(revision)) {
    return await readPages(call, keys, prefix, options);
  }
  return await readWithinCommit(call, keys, prefix, { ...options, revision });
}

/** The state within a commit is that of the whole commit without the writes after the revision. */
async function readWithinCommit(
  call: CallRange,
  keys: Keys,
  prefix: string,
  options: RangeOptions & { readonly revision: number },
): Promise<RangeResult> {
  const { revision, after, limit = Number.POSITIVE_INFINITY } = options;
  const before = wholeCommitAt(revision);
  const items: StoredItem[] = [];
  // One more than requested reveals whether there are more.
  const page = Number.isFinite(limit) ? { limit: limit + 1 } : {};
  let from = after;
  for (;;) {
    const start = from === undefined ? {} : { after: from };
    const read = await readPages(call, keys, prefix, { revision, ...start, ...page });
    for (const item of read.items) {
      const then = item.revision <= revision ? item : await readOne(call, keys, item.key, before);
      if (then !== undefined) items.push(then);
    }
    from = read.items.at(-1)?.key;
    const isEnd = !read.more || from === undefined;
    const more = items.length > limit;
    if (isEnd || more) return { revision, items: items.slice(0, limit), more };
  }
}

async function readOne(
  call: CallRange,
  keys: Keys,
  key: string,
  commit: number,
): Promise<StoredItem | undefined> {
  // Nothing precedes the first commit, and 0 would mean the newest.
  if (commit === 0) return undefined;
  const [kv] = messagesIn(await call({ key: keys.toBytes(key), revision: commit }), 'kvs');
  return kv === undefined ? undefined : keys.toItem(kv);
}

async function readPages(
  call: CallRange,
  keys: Keys,
  prefix: string,
  { revision: wanted, after, limit }: RangeOptions,
): Promise<RangeResult> {
  const { from: start, end } = keys.range(prefix);
  const next = after === undefined ? start : keys.toBytes(`${after}\0`);
  let from = Buffer.compare(next, start) > 0 ? next : start;
  const items: StoredItem[] = [];
  let commit = wanted === undefined ? 0 : commitOf(wanted);
  let pageSize = FIRST_PAGE;
  for (;;) {
    const left = limit === undefined ? pageSize : Math.min(pageSize, limit - items.length);
    const response = await call({ key: from, rangeEnd: end, limit: left, revision: commit });
    if (commit === 0) commit = headerRevision(response);
    const page = messagesIn(response, 'kvs').map((kv) => keys.toItem(kv));
    for (const item of page) items.push(item);
    const last = page.at(-1);
    const more = response['more'] === true && last !== undefined;
    if (!more || (limit !== undefined && items.length >= limit)) {
      return { revision: wanted ?? revisionOf(commit), items, more };
    }
    from = keys.toBytes(`${last.key}\0`);
    const bytes = page.reduce((sum, { value }) => sum + value.length, page.length);
    pageSize = Math.max(1, Math.min(LONGEST_PAGE, Math.floor((PAGE_BYTES / bytes) * page.length)));
  }
}
