/** Selects one page of a list from a state. Pure. */
import type { CachedObject, ListOptions, ListPage } from '../contract.ts';
import { compareKeys, endOfNamespace } from '../state/ordered.ts';
import { compileSelection, isFiltered } from '../state/selection.ts';
import type { StateView } from '../state/snapshot.ts';

type Range = { readonly after: string | undefined; readonly prefix: string | undefined };

/** Returns the range of keys that can be on the page: those of a namespace are adjacent. */
export function rangeOf({ namespace, after }: ListOptions): Range {
  if (namespace === undefined || namespace === '') return { after, prefix: undefined };
  const prefix = `${namespace}/`;
  const start = after === undefined || compareKeys(after, prefix) < 0 ? prefix : after;
  return { after: start, prefix };
}

/** Returns the number of objects after the last one of the page, for a list without a selector. */
function remainingOf(view: StateView, options: ListOptions, last: CachedObject): number {
  const { namespace } = options;
  const end = namespace === undefined || namespace === '' ? view.size : view.rank(endOfNamespace(namespace));
  return end - view.rank(last.key) - 1;
}

export function pageOf(view: StateView, revision: number, options: ListOptions): ListPage {
  const { after, prefix } = rangeOf(options);
  const limit = options.limit ?? Number.POSITIVE_INFINITY;
  const { labels, fields } = options;
  // The range has already selected the namespace.
  const matches = compileSelection({ labels, fields });
  const items: CachedObject[] = [];
  const cursor = view.after(after);
  for (let object = cursor.next(); object !== undefined; object = cursor.next()) {
    if (prefix !== undefined && !object.key.startsWith(prefix)) break;
    if (matches !== undefined && !matches(object)) continue;
    if (items.length < limit) {
      items.push(object);
      continue;
    }
    const last = items.at(-1);
    if (last === undefined) break;
    const remaining = isFiltered(options) ? {} : { remaining: remainingOf(view, options, last) };
    return { revision, items, next: last.key, ...remaining };
  }
  return { revision, items };
}
