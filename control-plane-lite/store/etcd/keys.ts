/** Maps the store's keys to keys in the cluster. */
import { Buffer } from 'node:buffer';
import type { DecodedMessage } from '#api/codec/protobuf/fields.ts';
import type { StoredItem } from '../contract.ts';
import { prefixEnd } from '../keys.ts';
import { unpack } from '../packing/packed-value.ts';
import { bytesIn, numberIn } from './messages.ts';
import { revisionOf, unmark } from './revisions.ts';

export interface Keys {
  readonly toBytes: (key: string) => Buffer;
  readonly fromBytes: (bytes: Buffer) => string;
  /** @param kv a message `KeyValue` */
  readonly toItem: (kv: DecodedMessage) => StoredItem;
  readonly range: (prefix: string) => { readonly from: Buffer; readonly end: Buffer };
}

/** @param prefix prepended to every key */
export function createKeys(prefix: string): Keys {
  const skip = Buffer.byteLength(prefix);
  const fromBytes = (bytes: Buffer): string => bytes.toString('utf8', skip);
  return {
    toBytes: (key) => Buffer.from(prefix + key),
    fromBytes,
    toItem(kv) {
      const { value, behind } = unmark(bytesIn(kv, 'value'));
      const revision = revisionOf(numberIn(kv, 'modRevision'), behind);
      return { key: fromBytes(bytesIn(kv, 'key')), value: unpack(value), revision };
    },
    range(keysPrefix) {
      // An empty key would denote a single key; no key is before this one.
      const from = Buffer.from(prefix + keysPrefix || '\0');
      return { from, end: prefixEnd(prefix + keysPrefix) };
    },
  };
}
