/** A KMS plugin as a process of its own, for tests: `node kms-plugin.fixture.ts SOCKET KEY_ID`. It encrypts with a key that
 *  is derived from the id, so that a restarted plugin reads what an earlier one wrote. */
import { Buffer } from 'node:buffer';
import { createHash } from 'node:crypto';
import { rmSync } from 'node:fs';
import { Server, ServerCredentials, type ServerUnaryCall, type sendUnaryData, status } from '@grpc/grpc-js';
import type { DecodedMessage } from '#api/codec/protobuf/fields.ts';
import { aesGcm } from './ciphers.ts';
import { bytesIn, KMS_V1, KMS_V2, type KmsMethod, textIn } from './kms/messages.ts';

const [socket = '', keyId = 'key-1'] = process.argv.slice(2);
const CONTEXT = Buffer.alloc(0);

const cipherOf = (id: string) => aesGcm(createHash('sha256').update(id).digest());

/** The id of the key, its length before it, is part of what a plugin of version 1 returns. */
function seal(plain: Buffer): Buffer {
  const id = Buffer.from(keyId);
  return Buffer.concat([Buffer.from([id.length]), id, cipherOf(keyId).seal(plain, CONTEXT)]);
}

function open(sealed: Buffer): Buffer {
  const at = 1 + (sealed[0] ?? 0);
  return cipherOf(sealed.toString('utf8', 1, at)).open(sealed.subarray(at), CONTEXT);
}

const METHODS: readonly (readonly [KmsMethod, (request: DecodedMessage) => object])[] = [
  [KMS_V1.version, () => ({ version: 'v1beta1' })],
  [KMS_V1.encrypt, (request) => ({ cipher: seal(bytesIn(request, 'plain')) })],
  [KMS_V1.decrypt, (request) => ({ plain: open(bytesIn(request, 'cipher')) })],
  [KMS_V2.status, () => ({ version: 'v2alpha1', healthz: 'ok', keyId })],
  [
    KMS_V2.encrypt,
    (request) => ({
      ciphertext: seal(bytesIn(request, 'plaintext')),
      keyId,
      annotations: { 'version.example.com': Buffer.from('1') },
    }),
  ],
  [
    KMS_V2.decrypt,
    (request) => {
      if (textIn(request, 'uid') === '' || textIn(request, 'keyId') === '') throw new Error('incomplete');
      return { plaintext: open(bytesIn(request, 'ciphertext')) };
    },
  ],
];

const asBuffer = (bytes: Uint8Array): Buffer => Buffer.from(bytes);
const server = new Server();
for (const service of ['v1beta1', 'v2alpha1']) {
  const own = METHODS.filter(([{ path }]) => path.startsWith(`/${service}.`));
  const definitions = own.map(([{ path, request, response }]) => [
    path.slice(path.lastIndexOf('/') + 1),
    {
      path,
      requestStream: false,
      responseStream: false,
      requestSerialize: (message: object) => asBuffer(request.encode(message)),
      requestDeserialize: (bytes: Buffer) => request.decode(bytes),
      responseSerialize: (message: object) => asBuffer(response.encode(message)),
      responseDeserialize: (bytes: Buffer) => response.decode(bytes),
    },
  ]);
  const handlers = own.map(([{ path }, respond]) => [
    path.slice(path.lastIndexOf('/') + 1),
    ({ request }: ServerUnaryCall<DecodedMessage, object>, done: sendUnaryData<object>) => {
      try {
        done(null, respond(request));
      } catch (thrown) {
        done({ code: status.INVALID_ARGUMENT, details: String(thrown) });
      }
    },
  ]);
  // oxlint-disable-next-line typescript/no-unsafe-argument -- fromEntries of pairs of several types
  server.addService(Object.fromEntries(definitions), Object.fromEntries(handlers));
}
rmSync(socket, { force: true });
server.bindAsync(`unix:${socket}`, ServerCredentials.createInsecure(), (error) => {
  process.stdout.write(error === null ? 'ready\n' : `${error.message}\n`);
});
