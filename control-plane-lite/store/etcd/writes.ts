/** Conditional writes. Puts that arrive together are one transaction of the cluster, which costs it little
 *  more than a single one; if the condition of any fails, that one goes alone, and the others once more.
 *  Deletions go alone: a deletion has no value that could encode its position.
 *
 *  Nested transactions per put are no alternative: etcd's space quota does not count their writes. */
import type { DecodedMessage } from '#api/codec/protobuf/fields.ts';
import { asError } from '#api/kit/errno.ts';
import type { Expected, WriteResult } from '../contract.ts';
import { pack } from '../packing/packed-value.ts';
import { isTooMuchAtOnce } from './failure.ts';
import type { Keys } from './keys.ts';
import { type Call, headerRevision, type Method, messageIn, messagesIn, numberIn } from './messages.ts';
import { createPutQueue, type QueueEntry } from './put-queue.ts';
import { commitOf, mark, PLACES, revisionOf } from './revisions.ts';

export interface Writes {
  readonly put: (key: string, value: Buffer, expected: Expected) => Promise<WriteResult>;
  readonly delete: (key: string, expected: number) => Promise<WriteResult>;
}

interface PendingPut extends QueueEntry {
  readonly value: Buffer;
  readonly expected: Expected;
  readonly resolve: (result: WriteResult) => void;
  readonly reject: (error: Error) => void;
}

/** etcd's default limit is 1.5 MiB per request. */
const LIMITS = { entries: PLACES, enough: 16, bytes: 1024 * 1024 };

export function createWrites(call: Call, txn: Method, keys: Keys): Writes {
  async function write(action: string, request: object): Promise<DecodedMessage> {
    return await call(txn, action, request, false);
  }

  async function send(group: readonly PendingPut[]): Promise<void> {
    try {
      await (group.length > 1 ? putTogether(group) : Promise.all(group.map(putAlone)));
    } catch (thrown) {
      if (group.length > 1 && isTooMuchAtOnce(thrown)) return await sendHalves(group);
      for (const { reject } of group) reject(asError(thrown));
    }
  }

  /** The cluster's limits are lower than ours. Nothing was written. */
  async function sendHalves(group: readonly PendingPut[]): Promise<void> {
    const middle = Math.ceil(group.length / 2);
    await send(group.slice(0, middle));
    await send(group.slice(middle));
  }

  async function putAlone(put: PendingPut): Promise<void> {
    const response = await write(`writing ${put.key}`, conditional(keys, put, putOf(keys, put, 0)));
    put.resolve(toResult(keys, response));
  }

  async function putTogether(group: readonly PendingPut[]): Promise<void> {
    const last = group.length - 1;
    const names = group.map(({ key }) => keys.toBytes(key));
    const response = await write(`writing ${group[0]?.key} and ${last} more`, {
      compare: group.map(({ expected }, i) => compare(names[i], expected)),
      success: group.map((put, i) => putOf(keys, put, last - i)),
      failure: names.map((key) => ({ requestRange: { key, keysOnly: true } })),
    });
    const commit = headerRevision(response);
    if (response['succeeded'] !== true) return await putApart(group, response);
    for (const [i, { resolve }] of group.entries())
      resolve({ ok: true, revision: revisionOf(commit, last - i) });
  }

  /** @param response of the transaction that was not performed: the current items */
  async function putApart(group: readonly PendingPut[], response: DecodedMessage): Promise<void> {
    const found = messagesIn(response, 'responses');
    const isMet = ({ expected }: PendingPut, i: number): boolean => {
      const [kv] = messagesIn(messageIn(found[i] ?? {}, 'responseRange'), 'kvs');
      return numberIn(kv ?? {}, 'modRevision') === commitExpected(expected);
    };
    const alone = group.filter((put, i) => !isMet(put, i));
    const others = group.filter(isMet);
    const rounds = [...alone.map((put) => [put]), others].filter((round) => round.length > 0);
    await Promise.all(rounds.map(send));
  }

  const queue = createPutQueue(LIMITS, send);
  const putStored = (key: string, value: Buffer, expected: Expected): Promise<WriteResult> =>
    new Promise((resolve, reject) => {
      queue.add({ key, bytes: key.length + value.length, value, expected, resolve, reject });
    });
  return {
    put(key, value, expected) {
      const stored = pack(value);
      return stored instanceof Promise
        ? stored.then((packed) => putStored(key, packed, expected))
        : putStored(key, stored, expected);
    },
    async delete(key, expected) {
      const operation = { requestDeleteRange: { key: keys.toBytes(key) } };
      const response = await write(`deleting ${key}`, conditional(keys, { key, expected }, operation));
      return toResult(keys, response);
    },
  };
}

const commitExpected = (expected: Expected): number => (expected === 'absent' ? 0 : commitOf(expected));

function compare(key: Buffer | undefined, expected: Expected): object {
  return { result: 'EQUAL', target: 'MOD', key, modRevision: commitExpected(expected) };
}

function putOf(
  keys: Keys,
  { key, value }: { readonly key: string; readonly value: Buffer },
  behind: number,
): object {
  return { requestPut: { key: keys.toBytes(key), value: mark({ value, behind }) } };
}

/** Returns a transaction that reads the key if the condition fails. */
function conditional(
  keys: Keys,
  { key, expected }: { readonly key: string; readonly expected: Expected },
  operation: object,
): object {
  const name = keys.toBytes(key);
  return {
    compare: [compare(name, expected)],
    success: [operation],
    failure: [{ requestRange: { key: name } }],
  };
}

function toResult(keys: Keys, response: DecodedMessage): WriteResult {
  if (response['succeeded'] === true) return { ok: true, revision: revisionOf(headerRevision(response)) };
  const [found] = messagesIn(response, 'responses');
  const [kv] = messagesIn(messageIn(found ?? {}, 'responseRange'), 'kvs');
  return { ok: false, current: kv === undefined ? undefined : keys.toItem(kv) };
}
