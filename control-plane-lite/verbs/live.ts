/** The object that a write starts from. */

import { copyJson, copyJsonSteps } from '#api/codec/copy-json.ts';
import { parseJsonText } from '#api/codec/json-text.ts';
import { finishInTurns, type Steps } from '#api/kit/steps.ts';
import { lengthWithoutRevision, withoutRevision, withRevision } from '../cache/state/stored-form.ts';
import { isLarge, yieldToEventLoop } from '../kit/yield.ts';
import { sameJson, sameJsonSteps } from '../patch/json-value.ts';
import type { ApiObject } from '../resources/contract.ts';
import type { StoredItem } from '../store/contract.ts';

export interface Live {
  /** JSON with the resource version. */
  readonly json: Buffer;
  readonly revision: number;
  /** Created by this very process. */
  readonly madeHere: boolean;
  /** In the stored version: shared, never to be modified. */
  object(): ApiObject;
  /** Parses a large object, with turns of others in between. The cache may drop it at once. */
  load?(turn: () => Promise<void>): Promise<ApiObject>;
}

/** The same object, parsed in turns and held as long as the result is: the cache drops a parsed object that is larger
 *  than its budget, and each look would parse it again in one piece. */
export async function loaded(live: Live, turn: () => Promise<void>): Promise<Live> {
  if (live.load === undefined) return live;
  const object = await live.load(turn);
  const { json, revision, madeHere } = live;
  return { json, revision, madeHere, object: () => object };
}

/** Returns a copy for the caller, in the stored version. */
export const copyLive = (live: Live): ApiObject | Promise<ApiObject> =>
  isLarge(live.json) ? copyInTurns(live) : copyJson(live.object());

async function copyInTurns(live: Live): Promise<ApiObject> {
  const held = await loaded(live, yieldToEventLoop);
  await yieldToEventLoop();
  return finishInTurns(copyJsonSteps(held.object()), yieldToEventLoop);
}

/** The store's report of a conflict. */
export function liveOf(item: StoredItem | undefined): Live | undefined {
  if (item === undefined) return undefined;
  const json = withRevision(item.value, item.revision);
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- our own stored bytes
  const object = parseJsonText(json.toString('utf8')) as ApiObject;
  return { json, revision: item.revision, madeHere: false, object: () => object };
}

/** Outcome of one attempt to write. */
export type Attempt<T> =
  | { readonly kind: 'done'; readonly result: T }
  /** A concurrent write came first; this is the current object. */
  | { readonly kind: 'raced'; readonly current: StoredItem | undefined };

/** Compares objects regardless of the order of members; the time of a managedFields entry changes only with
 *  its content. */
export function isSame(bytes: Buffer, live: Live, stored: ApiObject): boolean {
  if (lengthWithoutRevision(live.json) !== bytes.length) return false;
  return withoutRevision(live.json).equals(bytes) || sameJson(comparable(stored), comparable(live.object()));
}

export function* isSameSteps(bytes: Buffer, live: Live, stored: ApiObject): Steps<boolean> {
  if (lengthWithoutRevision(live.json) !== bytes.length) return false;
  if (withoutRevision(live.json).equals(bytes)) return true;
  yield;
  return yield* sameJsonSteps(comparable(stored), comparable(live.object()));
}

function comparable(object: ApiObject): Readonly<Record<string, unknown>> {
  const { resourceVersion: _version, managedFields = [], ...metadata } = object.metadata;
  const managers = managedFields.map(({ time: _time, ...manager }) => manager);
  return { ...object, metadata: { ...metadata, managers } };
}
