/** Check of watches: each change after the start of a watch was sent once, in order, as its selector
 *  requires; a bookmark came after all changes up to its version and before all others. */

import { sameVersion } from './check-reads.ts';
import {
  type EventType,
  isSelected,
  type Seen,
  type Selection,
  type Version,
  type Watching,
} from './history.ts';
import { type Change, firstIndex, type Truth } from './truth.ts';

interface Expected {
  readonly type: EventType;
  readonly version: Version;
}

export function checkWatchings(truth: Truth, watchings: readonly Watching[], errors: string[]): void {
  for (const watching of watchings) {
    const error = checkWatching(truth, watching);
    if (error === undefined) continue;
    errors.push(`watch ${JSON.stringify([watching.selection, watching.start])}: ${error}`);
  }
}

/** Returns the event of a change for a watch with a selector. */
export function expectedOf(selection: Selection, { type, version, previous }: Change): Expected | undefined {
  const was = previous !== undefined && isSelected(selection, version.key, previous.value);
  const is = type !== 'DELETED' && isSelected(selection, version.key, version.value);
  if (is) return { type: was ? 'MODIFIED' : 'ADDED', version };
  // One that leaves the selection is shown as it was last in it.
  return was ? { type: 'DELETED', version: { ...version, value: previous.value } } : undefined;
}

function checkWatching(truth: Truth, watching: Watching): string | undefined {
  const { start, seen } = watching;
  if (start.kind === 'revision') return follow(truth, watching, start.revision, seen);
  return checkFromState(truth, watching, start.floor);
}

/** The state that it began with is one of those that it may have begun with. */
function checkFromState(truth: Truth, watching: Watching, floor: number): string | undefined {
  const { selection, seen } = watching;
  const range = startsOf(truth, floor, seen);
  const first = firstIndex(truth.changes, ({ version }) => version.revision > range.from);
  const state = new Map<string, Version>();
  for (const { type, version } of truth.changes.slice(0, first)) apply(state, type, version);
  let error = 'no state fits';
  for (let next = first; ; next += 1) {
    const from = Math.max(range.from, truth.changes[next - 1]?.version.revision ?? 0);
    const initial = [...state.values()].filter(({ key, value }) => isSelected(selection, key, value));
    const found = checkInitial(truth, watching, from, initial);
    if (found === undefined) return undefined;
    if (next === first) error = found;
    const change = truth.changes[next];
    if (change === undefined || change.version.revision >= range.to) return `${error} (nor any later state)`;
    apply(state, change.type, change.version);
  }
}

/** Revisions that it may have begun with: its first event must have been there. */
function startsOf(
  truth: Truth,
  floor: number,
  [first]: readonly Seen[],
): { readonly from: number; readonly to: number } {
  const none = { from: floor, to: Number.POSITIVE_INFINITY };
  if (first === undefined) return none;
  if (first.kind === 'bookmark') return { from: floor, to: first.revision + 1 };
  const { key, revision } = first.version;
  const span = truth.spans(key).find(({ version }) => version?.revision === revision);
  return span === undefined ? none : { from: Math.max(floor, span.from), to: span.to };
}

function apply(state: Map<string, Version>, type: EventType, version: Version): void {
  if (type === 'DELETED') state.delete(version.key);
  else state.set(version.key, version);
}

function checkInitial(
  truth: Truth,
  watching: Watching,
  from: number,
  initial: readonly Version[],
): string | undefined {
  const { seen, complete } = watching;
  const expected = new Map(initial.map((version) => [version.key, version]));
  const begun = seen.slice(0, initial.length);
  for (const each of begun) {
    if (each.kind === 'bookmark') return `a bookmark among the state`;
    const { type, version } = each;
    if (type !== 'ADDED' || !sameVersion(version, expected.get(version.key))) {
      return `${type} ${version.key}@${version.revision} is not of the state at ${from}`;
    }
    expected.delete(version.key);
  }
  const rest = seen.slice(begun.length);
  if (rest.slice(1).some((each) => each.kind === 'bookmark' && each.initialEnd))
    return 'initial-events end reported late';
  // One that was cut off early saw a part.
  return expected.size > 0 && (rest.length > 0 || complete)
    ? `${[...expected.keys()].join()} missing of the state at ${from}`
    : follow(truth, watching, from, rest);
}

/** A copy of what was expected up to where it ended: `seen` is what came after the state. */
function follow(
  truth: Truth,
  { selection, complete }: Watching,
  from: number,
  seen: readonly Seen[],
): string | undefined {
  let next = firstIndex(truth.changes, ({ version }) => version.revision > from);
  const advance = (): Expected | undefined => {
    for (let change = truth.changes[next]; change !== undefined; change = truth.changes[next]) {
      const expected = expectedOf(selection, change);
      if (expected !== undefined) return expected;
      next += 1;
    }
    return undefined;
  };
  let last = from;
  for (const each of seen) {
    const expected = advance();
    if (each.kind === 'bookmark') {
      if (each.revision < last) return `bookmark ${each.revision} after ${last}`;
      if (expected !== undefined && expected.version.revision <= each.revision) {
        return `bookmark ${each.revision} before ${expected.type} ${expected.version.key}@${expected.version.revision}`;
      }
      last = each.revision;
      continue;
    }
    const { type, version } = each;
    if (expected === undefined || expected.type !== type || !sameVersion(expected.version, version)) {
      const wanted =
        expected === undefined
          ? 'nothing'
          : `${expected.type} ${expected.version.key}@${expected.version.revision}`;
      return `${type} ${version.key}@${version.revision} instead of ${wanted}`;
    }
    last = version.revision;
    next += 1;
  }
  const missing = complete ? advance() : undefined;
  return missing === undefined
    ? undefined
    : `never ${missing.type} ${missing.version.key}@${missing.version.revision}`;
}
