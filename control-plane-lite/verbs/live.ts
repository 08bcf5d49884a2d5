/** The object that a write starts from, as its bytes. */
import { withRevision } from '../cache/stored-form.ts';
import type { ApiObject } from '../resources/contract.ts';
import type { StoredItem } from '../store/contract.ts';

export interface Live {
  /** JSON with the resource version. */
  readonly json: Buffer;
  readonly revision: number;
}

/** A fresh copy, in the stored version. */
export const parseLive = ({ json }: Live): ApiObject =>
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- our own stored bytes
  JSON.parse(json.toString('utf8')) as ApiObject;

export const liveOf = (item: StoredItem | undefined): Live | undefined =>
  item === undefined ? undefined : { json: withRevision(item.value, item.revision), revision: item.revision };

/** What became of one try to write. */
export type Attempt<T> =
  | { readonly kind: 'done'; readonly result: T }
  /** Someone else was faster; this is there now. */
  | { readonly kind: 'raced'; readonly current: StoredItem | undefined };

/** Others may be faster this often before the client is told to try again. */
export const MAX_ATTEMPTS = 64;
