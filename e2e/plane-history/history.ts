/** History of the requests and observations of 32 clients on ConfigMaps, as plain data, for the checker. All
 *  times are those of one process (`performance.now`), so they can be compared. */

/** Observed part of a ConfigMap. */
export interface Value {
  readonly color: string;
  readonly data: Readonly<Record<string, string>>;
}

/** `namespace/name` */
export type Key = string;

export interface Version {
  readonly key: Key;
  readonly revision: number;
  readonly uid: string;
  readonly value: Value;
}

/** A part of an object; `data` is merged into what is there. */
export interface Change {
  readonly color?: string;
  readonly data: Readonly<Record<string, string>>;
}

/** Intended effect of a write. `base`: the revision that it must replace. */
export type Intent =
  | { readonly kind: 'create'; readonly value: Value }
  | { readonly kind: 'update'; readonly value: Value; readonly base?: number }
  | { readonly kind: 'patch'; readonly change: Change; readonly base?: number }
  /** Makes the object if it isn't there. */
  | { readonly kind: 'apply'; readonly change: Change }
  | { readonly kind: 'delete'; readonly base?: number };

/** A write or a read. `floor`: the lowest revision it may have seen, the highest that any client had seen at its start. */
interface Call {
  readonly key: Key;
  readonly floor: number;
  readonly beganMs: number;
  readonly endedMs: number;
}

export type Write = Call & {
  /** Stands in `data.last` of what it writes. */
  readonly id: string;
  readonly intent: Intent;
  readonly result:
    | { readonly kind: 'done'; readonly version: Version }
    | { readonly kind: 'deleted'; readonly uid: string }
    | { readonly kind: 'refused'; readonly status: number; readonly reason: string }
    /** The client disconnected; the outcome is unknown. */
    | { readonly kind: 'unknown' };
};

/** `floor` is 0 where any state would do. */
export type Get = Call & { readonly found: Version | undefined };

export interface Selection {
  /** Absent: all. */
  readonly namespace?: string;
  readonly color?: string;
  readonly name?: string;
}

export interface Listing {
  readonly selection: Selection;
  readonly floor: number;
  /** Requested with exactly this version. */
  readonly exact?: number;
  /** Of each page. */
  readonly revisions: readonly number[];
  readonly items: readonly Version[];
  /** `remainingItemCount` of each page, with the items that were there up to it. */
  readonly remaining: readonly { readonly seen: number; readonly left: number }[];
}

export type EventType = 'ADDED' | 'MODIFIED' | 'DELETED';

export type Seen =
  | { readonly kind: 'event'; readonly type: EventType; readonly version: Version }
  | { readonly kind: 'bookmark'; readonly revision: number; readonly initialEnd: boolean };

export interface Watching {
  readonly selection: Selection;
  readonly start:
    | { readonly kind: 'revision'; readonly revision: number }
    /** First the state: one at or after `floor` that was there before `endedMs`. */
    | { readonly kind: 'state'; readonly floor: number };
  readonly seen: readonly Seen[];
  /** Was given all the time it could want: it must have seen everything up to the history's end. */
  readonly complete: boolean;
}

export interface History {
  readonly seed: number;
  /** Versions before the first change of the history. */
  readonly before: readonly Version[];
  /** The last revision that is judged. */
  readonly end: number;
  readonly writes: readonly Write[];
  readonly gets: readonly Get[];
  readonly listings: readonly Listing[];
  readonly watchings: readonly Watching[];
  /** All changes, as seen by uninterrupted watches of everything, one per server. */
  readonly witnesses: readonly (readonly Seen[])[];
}

export function isSelected(selection: Selection, key: Key, value: Value): boolean {
  const [namespace, name] = key.split('/');
  return (
    (selection.namespace === undefined || selection.namespace === namespace) &&
    (selection.name === undefined || selection.name === name) &&
    (selection.color === undefined || selection.color === value.color)
  );
}

/** The same text for equal values. */
export function textOf({ color, data }: Value): string {
  const members = Object.entries(data).toSorted(([a], [b]) => (a < b ? -1 : 1));
  return JSON.stringify([color, members]);
}

export function changed(value: Value | undefined, { color, data }: Change): Value {
  return { color: color ?? value?.color ?? '', data: { ...value?.data, ...data } };
}
