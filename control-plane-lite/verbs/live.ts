/** The object that a write starts from. */

import { copyJson } from '#api/codec/copy-json.ts';
import { parseJsonText } from '#api/codec/json-text.ts';
import { withRevision } from '../cache/state/stored-form.ts';
import { betweenTurns, isLarge, yieldToEventLoop } from '../kit/yield.ts';
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
  /** Parses a large object, with turns of others in between, for `object` to have it. */
  load?(turn: () => Promise<void>): Promise<void>;
}

/** Returns a copy for the caller, in the stored version. */
export const copyLive = (live: Live): ApiObject | Promise<ApiObject> =>
  isLarge(live.json) ? copyInTurns(live) : copyJson(live.object());

async function copyInTurns(live: Live): Promise<ApiObject> {
  await live.load?.(yieldToEventLoop);
  return betweenTurns(() => copyJson(live.object()));
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
