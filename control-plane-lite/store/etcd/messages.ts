/** The messages of etcd's API, version 3, that the store uses.
 *  Source: etcdserverpb/rpc.proto and mvccpb/kv.proto of etcd 3.4; later versions only add to them. */
import { Buffer } from 'node:buffer';
import type { DecodedMessage } from '#api/codec/protobuf/fields.ts';
import { createMessageTypes, type MessageType } from '#api/codec/protobuf/message.ts';
import type { ProtoTable } from '#api/codec/protobuf/table.ts';

const ETCD: ProtoTable = {
  protoPackage: 'etcdserverpb',
  messages: {
    ResponseHeader: { revision: { number: 3, type: 'int64' } },
    KeyValue: {
      key: { number: 1, type: 'bytes' },
      mod_revision: { number: 3, type: 'int64' },
      value: { number: 5, type: 'bytes' },
    },
    RangeRequest: {
      key: { number: 1, type: 'bytes' },
      range_end: { number: 2, type: 'bytes' },
      limit: { number: 3, type: 'int64' },
      revision: { number: 4, type: 'int64' },
      keys_only: { number: 8, type: 'bool' },
      count_only: { number: 9, type: 'bool' },
    },
    RangeResponse: {
      header: { number: 1, type: 'ResponseHeader' },
      kvs: { number: 2, type: 'KeyValue', repeated: true },
      more: { number: 3, type: 'bool' },
    },
    PutRequest: { key: { number: 1, type: 'bytes' }, value: { number: 2, type: 'bytes' } },
    DeleteRangeRequest: { key: { number: 1, type: 'bytes' } },
    RequestOp: {
      request_range: { number: 1, type: 'RangeRequest', oneof: 'request' },
      request_put: { number: 2, type: 'PutRequest', oneof: 'request' },
      request_delete_range: { number: 3, type: 'DeleteRangeRequest', oneof: 'request' },
    },
    ResponseOp: { response_range: { number: 1, type: 'RangeResponse', oneof: 'response' } },
    Compare: {
      result: { number: 1, type: 'CompareResult' },
      target: { number: 2, type: 'CompareTarget' },
      key: { number: 3, type: 'bytes' },
      mod_revision: { number: 6, type: 'int64', oneof: 'target_union' },
    },
    TxnRequest: {
      compare: { number: 1, type: 'Compare', repeated: true },
      success: { number: 2, type: 'RequestOp', repeated: true },
      failure: { number: 3, type: 'RequestOp', repeated: true },
    },
    TxnResponse: {
      header: { number: 1, type: 'ResponseHeader' },
      succeeded: { number: 2, type: 'bool' },
      responses: { number: 3, type: 'ResponseOp', repeated: true },
    },
    CompactionRequest: { revision: { number: 1, type: 'int64' } },
    CompactionResponse: { header: { number: 1, type: 'ResponseHeader' } },
    WatchCreateRequest: {
      key: { number: 1, type: 'bytes' },
      range_end: { number: 2, type: 'bytes' },
      start_revision: { number: 3, type: 'int64' },
      progress_notify: { number: 4, type: 'bool' },
    },
    WatchProgressRequest: {},
    WatchRequest: {
      create_request: { number: 1, type: 'WatchCreateRequest', oneof: 'request' },
      progress_request: { number: 3, type: 'WatchProgressRequest', oneof: 'request' },
    },
    StatusRequest: {},
    StatusResponse: { version: { number: 2, type: 'string' } },
    Event: { type: { number: 1, type: 'EventType' }, kv: { number: 2, type: 'KeyValue' } },
    WatchResponse: {
      header: { number: 1, type: 'ResponseHeader' },
      watch_id: { number: 2, type: 'int64' },
      created: { number: 3, type: 'bool' },
      canceled: { number: 4, type: 'bool' },
      compact_revision: { number: 5, type: 'int64' },
      cancel_reason: { number: 6, type: 'string' },
      events: { number: 11, type: 'Event', repeated: true },
    },
  },
  enums: {
    CompareResult: { EQUAL: 0, GREATER: 1, LESS: 2, NOT_EQUAL: 3 },
    CompareTarget: { VERSION: 0, CREATE: 1, MOD: 2, VALUE: 3, LEASE: 4 },
    EventType: { PUT: 0, DELETE: 1 },
  },
};

/** How a method is called and its messages are encoded. */
export interface Method {
  readonly path: string;
  readonly request: MessageType;
  readonly response: MessageType;
}

export interface Methods {
  readonly range: Method;
  readonly txn: Method;
  readonly compact: Method;
  readonly watch: Method;
  readonly status: Method;
}

/** Calls a method of the cluster; `action` names the operation in errors.
 *  @param repeat whether the call is idempotent
 *  @throws StoreError */
export type Call = (
  method: Method,
  action: string,
  request: object,
  repeat: boolean,
) => Promise<DecodedMessage>;

/** A watch that catches up receives up to a thousand revisions in one message. */
const LIMITS = { maxDepth: 20, maxBytes: 2 ** 31 - 1, maxMessages: 100_000_000 };

export function createMethods(): Methods {
  const types = createMessageTypes(ETCD, LIMITS);
  const method = (path: string, request: string, response: string): Method => ({
    path: `/etcdserverpb.${path}`,
    request: types.type(request),
    response: types.type(response),
  });
  return {
    range: method('KV/Range', 'RangeRequest', 'RangeResponse'),
    txn: method('KV/Txn', 'TxnRequest', 'TxnResponse'),
    compact: method('KV/Compact', 'CompactionRequest', 'CompactionResponse'),
    watch: method('Watch/Watch', 'WatchRequest', 'WatchResponse'),
    status: method('Maintenance/Status', 'StatusRequest', 'StatusResponse'),
  };
}

/** Reads a 64-bit number of a message; revisions stay far below 2^53. */
export function numberIn(message: DecodedMessage, name: string): number {
  const value = message[name];
  return typeof value === 'bigint' || typeof value === 'number' ? Number(value) : 0;
}

export function bytesIn(message: DecodedMessage, name: string): Buffer {
  const value = message[name];
  if (!(value instanceof Uint8Array)) return Buffer.alloc(0);
  return Buffer.from(value.buffer, value.byteOffset, value.byteLength);
}

export function messageIn(message: DecodedMessage, name: string): DecodedMessage {
  const value = message[name];
  return isMessage(value) ? value : {};
}

export function messagesIn(message: DecodedMessage, name: string): readonly DecodedMessage[] {
  const value = message[name];
  return Array.isArray(value) ? value.filter(isMessage) : [];
}

/** Returns the revision in a response's header. */
export function headerRevision(response: DecodedMessage): number {
  return numberIn(messageIn(response, 'header'), 'revision');
}

function isMessage(value: unknown): value is DecodedMessage {
  return typeof value === 'object' && value !== null;
}
