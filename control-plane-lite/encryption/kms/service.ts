/** Calls a key management service over its unix socket. */
import { Buffer } from 'node:buffer';
import { Client, credentials, Metadata, type ServiceError } from '@grpc/grpc-js';
import type { DecodedMessage } from '#api/codec/protobuf/fields.ts';
import { StoreError } from '../../store/contract.ts';
import type { KmsMethod } from './messages.ts';

export interface KmsServiceOptions {
  /** As in the configuration. */
  readonly name: string;
  /** Path of its socket. */
  readonly socket: string;
  readonly timeoutMs: number;
}

export interface KmsService {
  /** @throws StoreError `unavailable`: the service did not respond in time, or reported an error */
  call(method: KmsMethod, request: object): Promise<DecodedMessage>;
  /** Calls in flight finish before it disconnects. */
  close(): void;
}

const MAX_MESSAGE_BYTES = 4 * 1024 * 1024;

const CHANNEL_OPTIONS: Readonly<Record<string, number | string>> = {
  'grpc.default_authority': 'localhost',
  'grpc.initial_reconnect_backoff_ms': 100,
  'grpc.max_reconnect_backoff_ms': 1000,
  'grpc.max_receive_message_length': MAX_MESSAGE_BYTES,
  'grpc.enable_retries': 0,
  'grpc.service_config_disable_resolution': 1,
  'grpc.use_local_subchannel_pool': 1,
  'grpc.enable_channelz': 0,
};

const asBuffer = (bytes: Uint8Array): Buffer => Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);

export function createKmsService({ name, socket, timeoutMs }: KmsServiceOptions): KmsService {
  const client = new Client(`unix:${socket}`, credentials.createInsecure(), CHANNEL_OPTIONS);
  // Calls fail at once while nothing listens on the socket: their callers retry.
  const metadata = new Metadata({ waitForReady: false });

  let isClosed = false;

  const failure = (cause: ServiceError): StoreError => {
    const detail = cause.details === '' ? cause.message : cause.details;
    return new StoreError('unavailable', `KMS provider ${name} at ${socket}: ${detail}`, { cause });
  };

  return {
    call: ({ path, request, response }, message) =>
      new Promise((resolve, reject) => {
        if (isClosed) {
          reject(new StoreError('unavailable', `KMS provider ${name} is no longer configured`));
          return;
        }
        client.makeUnaryRequest<Buffer, DecodedMessage>(
          path,
          (bytes) => bytes,
          (bytes) => response.decode(bytes),
          asBuffer(request.encode(message)),
          metadata,
          { deadline: Date.now() + timeoutMs },
          (error: ServiceError | null, decoded) => {
            if (error !== null) reject(failure(error));
            else resolve(decoded ?? {});
          },
        );
      }),
    close() {
      isClosed = true;
      client.close();
    },
  };
}
