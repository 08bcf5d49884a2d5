/** Messages of key management services, versions 1 and 2, and of the values that version 2 stores.
 *  Source: KeyManagementService of v1beta1 and v2alpha1; EncryptedObject of v2alpha1. */
import { Buffer } from 'node:buffer';
import type { DecodedMessage } from '#api/codec/protobuf/fields.ts';
import { createMessageTypes, type MessageType, type MessageTypes } from '#api/codec/protobuf/message.ts';

export interface KmsMethod {
  readonly path: string;
  readonly request: MessageType;
  readonly response: MessageType;
}

const bytes = (number: number): object => ({ number, type: 'bytes' });
const text = (number: number): object => ({ number, type: 'string' });
const annotations = (number: number): object => ({ number, type: 'bytes', map: 'string' });

const V1: MessageTypes = createMessageTypes({
  protoPackage: 'v1beta1',
  messages: {
    VersionRequest: { version: text(1) },
    VersionResponse: { version: text(1) },
    EncryptRequest: { version: text(1), plain: bytes(2) },
    EncryptResponse: { cipher: bytes(1) },
    DecryptRequest: { version: text(1), cipher: bytes(2) },
    DecryptResponse: { plain: bytes(1) },
  },
});

const V2: MessageTypes = createMessageTypes({
  protoPackage: 'v2alpha1',
  messages: {
    StatusRequest: {},
    StatusResponse: { version: text(1), healthz: text(2), key_id: text(3) },
    EncryptRequest: { plaintext: bytes(1), uid: text(2) },
    EncryptResponse: { ciphertext: bytes(1), key_id: text(2), annotations: annotations(3) },
    DecryptRequest: { ciphertext: bytes(1), uid: text(2), key_id: text(3), annotations: annotations(4) },
    DecryptResponse: { plaintext: bytes(1) },
    EncryptedObject: {
      encryptedData: bytes(1),
      keyID: text(2),
      encryptedDEK: bytes(3),
      annotations: annotations(4),
    },
  },
});

const methodOf = (types: MessageTypes, version: string, name: string): KmsMethod => ({
  path: `/${version}.KeyManagementService/${name}`,
  request: types.type(`${name}Request`),
  response: types.type(`${name}Response`),
});

type Methods<Name extends string> = Readonly<Record<Name, KmsMethod>>;

export const KMS_V1: Methods<'version' | 'encrypt' | 'decrypt'> = {
  version: methodOf(V1, 'v1beta1', 'Version'),
  encrypt: methodOf(V1, 'v1beta1', 'Encrypt'),
  decrypt: methodOf(V1, 'v1beta1', 'Decrypt'),
};

export const KMS_V2: Methods<'status' | 'encrypt' | 'decrypt'> = {
  status: methodOf(V2, 'v2alpha1', 'Status'),
  encrypt: methodOf(V2, 'v2alpha1', 'Encrypt'),
  decrypt: methodOf(V2, 'v2alpha1', 'Decrypt'),
};

export const ENCRYPTED_OBJECT: MessageType = V2.type('EncryptedObject');

export function bytesIn(message: DecodedMessage, name: string): Buffer {
  const value = message[name];
  if (!(value instanceof Uint8Array)) return Buffer.alloc(0);
  // A copy: decoded bytes are views of the message, which a cached key would retain.
  return Buffer.from(value);
}

export function textIn(message: DecodedMessage, name: string): string {
  const value = message[name];
  return typeof value === 'string' ? value : '';
}
