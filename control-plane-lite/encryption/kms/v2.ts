/** Key management service, version 2: as version 1, but values state the id of the remote key, so that a rotation of
 *  that key is noticed, and are authenticated with their storage key. A value is an EncryptedObject. */
import { Buffer } from 'node:buffer';
import { randomUUID } from 'node:crypto';
import type { DecodedMessage } from '#api/codec/protobuf/fields.ts';
import { aesGcm } from '../ciphers.ts';
import type { KmsProvider, Transformer } from '../contract.ts';
import { createDataKeys } from './data-keys.ts';
import { bytesIn, ENCRYPTED_OBJECT, KMS_V2, textIn } from './messages.ts';
import { newDataKey } from './new-data-key.ts';
import type { KmsDeps } from './v1.ts';

const API_VERSION = 'v2alpha1';
/** Upstream's limits of what a service may return. */
const MAX_KEY_BYTES = 1024;
const MAX_ID_BYTES = 1024;
const MAX_ANNOTATION_BYTES = 32 * 1024;
const CACHED_KEYS = 1000;

interface EncryptedKey {
  readonly bytes: Buffer;
  readonly keyId: string;
  readonly annotations: unknown;
}

const annotationBytes = (annotations: unknown): number =>
  Object.entries(typeof annotations === 'object' && annotations !== null ? annotations : {}).reduce(
    (sum, [name, value]) => sum + Buffer.byteLength(name) + (value instanceof Uint8Array ? value.length : 0),
    0,
  );

/** @throws Error if the response violates the limits */
function encryptedKeyOf(response: DecodedMessage): EncryptedKey {
  const found = {
    bytes: bytesIn(response, 'ciphertext'),
    keyId: textIn(response, 'keyId'),
    annotations: response['annotations'] ?? {},
  };
  if (found.bytes.length === 0 || found.bytes.length > MAX_KEY_BYTES)
    throw new Error(`the KMS provider returned a data key of ${found.bytes.length} bytes`);
  if (found.keyId === '' || Buffer.byteLength(found.keyId) > MAX_ID_BYTES)
    throw new Error('the KMS provider returned no id of its key, or one that is too long');
  if (annotationBytes(found.annotations) > MAX_ANNOTATION_BYTES)
    throw new Error('the KMS provider returned annotations that are too long');
  return found;
}

export function createKmsV2({ service, metrics }: KmsDeps, prefix: string): Transformer & KmsProvider {
  const keys = createDataKeys(CACHED_KEYS, metrics);
  /** The remote key that encrypts now, as last reported; empty until then. */
  let currentKeyId = '';

  const encrypt = async (plaintext: Buffer): Promise<EncryptedKey> => {
    const found = encryptedKeyOf(await service.call(KMS_V2.encrypt, { plaintext, uid: randomUUID() }));
    currentKeyId = found.keyId;
    return found;
  };
  const decrypt = async (request: Omit<EncryptedKey, 'bytes'>, ciphertext: Buffer): Promise<Buffer> => {
    const response = await service.call(KMS_V2.decrypt, { ...request, ciphertext, uid: randomUUID() });
    return bytesIn(response, 'plaintext');
  };
  const originWith = (keyId: string): string => `${prefix}${keyId}`;

  return {
    prefix,
    originOf: (sealed) => originWith(textIn(ENCRYPTED_OBJECT.decode(sealed), 'keyID')),
    isCurrent: (origin) =>
      currentKeyId === '' ? origin.startsWith(prefix) : origin === originWith(currentKeyId),
    async seal(value, context) {
      const { key, encrypted } = await newDataKey(encrypt, metrics);
      keys.add(encrypted.bytes, key, 'to_storage');
      const stored = ENCRYPTED_OBJECT.encode({
        encryptedData: aesGcm(key).seal(value, context),
        keyID: encrypted.keyId,
        encryptedDEK: encrypted.bytes,
        annotations: encrypted.annotations,
      });
      return Buffer.from(stored);
    },
    open(sealed, context) {
      const object = ENCRYPTED_OBJECT.decode(sealed);
      const encrypted = bytesIn(object, 'encryptedDEK');
      const request = { keyId: textIn(object, 'keyID'), annotations: object['annotations'] ?? {} };
      const key = keys.get(encrypted, () => decrypt(request, encrypted));
      const open = (found: Buffer): Buffer => aesGcm(found).open(bytesIn(object, 'encryptedData'), context);
      return key instanceof Promise ? key.then(open) : open(key);
    },
    async check() {
      const status = await service.call(KMS_V2.status, {});
      const [version, health, keyId] = [
        textIn(status, 'version'),
        textIn(status, 'healthz'),
        textIn(status, 'keyId'),
      ];
      if (version !== API_VERSION) throw new Error(`the KMS provider has API ${version}, not ${API_VERSION}`);
      if (health !== 'ok') throw new Error(`the KMS provider reports: ${health}`);
      if (keyId === '') throw new Error('the KMS provider reports no id of its key');
      currentKeyId = keyId;
    },
    close: () => service.close(),
  };
}
