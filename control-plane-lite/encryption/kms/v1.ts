/** Key management service, version 1: each value has a data key of its own, which the service encrypts.
 *  A value is the length of the encrypted data key (16 bits), the encrypted data key, and the value in AES-CBC. */
import { Buffer } from 'node:buffer';
import { randomBytes } from 'node:crypto';
import { aesCbc } from '../ciphers.ts';
import type { KmsProvider, Transformer } from '../contract.ts';
import type { DataKeyMetrics } from '../metrics.ts';
import { createDataKeys } from './data-keys.ts';
import { bytesIn, KMS_V1, textIn } from './messages.ts';
import { newDataKey } from './new-data-key.ts';
import type { KmsService } from './service.ts';

const API_VERSION = 'v1beta1';
const LENGTH_BYTES = 2;
const MAX_KEY_BYTES = 0xff_ff;

export interface KmsDeps {
  readonly service: KmsService;
  readonly metrics: DataKeyMetrics;
}

export interface KmsV1Options {
  readonly prefix: string;
  /** Data keys that are cached; 0: none. */
  readonly cacheSize: number;
}

interface Calls {
  readonly encrypt: (plain: Buffer) => Promise<Buffer>;
  readonly decrypt: (cipher: Buffer) => Promise<Buffer>;
}

/** Calls of the service; the first one checks its version. */
function createCalls(service: KmsService): Calls {
  let checked: Promise<void> | undefined;

  async function checkVersion(): Promise<void> {
    const version = textIn(await service.call(KMS_V1.version, { version: API_VERSION }), 'version');
    if (version !== API_VERSION) throw new Error(`the KMS provider has API ${version}, not ${API_VERSION}`);
  }

  async function ready(): Promise<void> {
    checked ??= checkVersion();
    try {
      await checked;
    } catch (thrown) {
      checked = undefined;
      throw thrown;
    }
  }

  return {
    async encrypt(plain: Buffer): Promise<Buffer> {
      await ready();
      return bytesIn(await service.call(KMS_V1.encrypt, { version: API_VERSION, plain }), 'cipher');
    },
    async decrypt(cipher: Buffer): Promise<Buffer> {
      await ready();
      return bytesIn(await service.call(KMS_V1.decrypt, { version: API_VERSION, cipher }), 'plain');
    },
  };
}

export function createKmsV1(
  { service, metrics }: KmsDeps,
  { prefix, cacheSize }: KmsV1Options,
): Transformer & KmsProvider {
  const calls = createCalls(service);
  const keys = createDataKeys(cacheSize, metrics);
  return {
    prefix,
    originOf: () => prefix,
    isCurrent: (origin) => origin === prefix,
    async seal(value, context) {
      const { key, encrypted } = await newDataKey(calls.encrypt, metrics);
      if (encrypted.length > MAX_KEY_BYTES) throw new Error('the encrypted data key is too long');
      keys.add(encrypted, key, 'to_storage');
      const length = Buffer.alloc(LENGTH_BYTES);
      length.writeUInt16BE(encrypted.length);
      return Buffer.concat([length, encrypted, aesCbc(key).seal(value, context)]);
    },
    open(sealed, context) {
      const at = LENGTH_BYTES + (sealed.length < LENGTH_BYTES ? 0 : sealed.readUInt16BE(0));
      if (sealed.length <= at) throw new Error('the value is too short for its data key');
      const encrypted = sealed.subarray(LENGTH_BYTES, at);
      const key = keys.get(encrypted, () => calls.decrypt(encrypted));
      const open = (found: Buffer): Buffer => aesCbc(found).open(sealed.subarray(at), context);
      return key instanceof Promise ? key.then(open) : open(key);
    },
    async check() {
      const sent = randomBytes(16);
      const received = await calls.decrypt(await calls.encrypt(sent));
      if (!received.equals(sent)) throw new Error('the KMS provider does not decrypt what it has encrypted');
    },
    close: () => service.close(),
  };
}
