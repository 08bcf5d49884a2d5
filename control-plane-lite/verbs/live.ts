/** The object that a write starts from. */

import { copyJson } from '#api/codec/copy-json.ts';
import { parseJsonText } from '#api/codec/json-text.ts';
import { withRevision } from '../cache/stored-form.ts';

import type { ApiObject } from '../resources/contract.ts';
import type { StoredItem } from '../store/contract.ts';

export interface Live {
  /** JSON with the resource version. */
  readonly json: Buffer;
  readonly revision: number;
  /** This very process made it. */
  readonly madeHere: boolean;
  /** In the stored version: shared, never to be changed. */
  object(): ApiObject;
}

/** A copy of the caller's own, in the stored version. */
export const copyLive = (live: Live): ApiObject => copyJson(live.object());

/** What the store said when somebody else was faster. */
export function liveOf(item: StoredItem | undefined): Live | undefined {
  if (item === undefined) return undefined;
  const json = withRevision(item.value, item.revision);
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- our own stored bytes
  const object = parseJsonText(json.toString('utf8')) as ApiObject;
  return { json, revision: item.revision, madeHere: false, object: () => object };
}

/** What became of one try to write. */
export type Attempt<T> =
  | { readonly kind: 'done'; readonly result: T }
  /** Someone else was faster; this is there now. */
  | { readonly kind: 'raced'; readonly current: StoredItem | undefined };
