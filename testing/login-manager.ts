/** A login manager on a private bus for one test: it announces a shutdown that does not happen. */
import { chmod, mkdir, writeFile } from 'node:fs/promises';
import { createServer, type Socket } from 'node:net';
import { join } from 'node:path';
import type { DBusMessage } from '#agent/dbus/message.ts';
import { decodeMessage } from '#agent/dbus/read.ts';
import { encodeCall } from '#agent/dbus/write.ts';

export interface TestLoginManager extends AsyncDisposable {
  /** Environment for the programs that use it. */
  readonly env: Readonly<Record<string, string>>;
  /** Resolves when a client listens. */
  readonly listened: Promise<void>;
  /** Announces a shutdown, or its cancellation. */
  prepareForShutdown(begins: boolean): void;
}

/** Longer than any shutdown of a test waits. */
const MAX_DELAY_US = 600_000_000n;
const SIGNAL = 4;

/** Encodes a response without values, or with a variant of one number. */
function encodeResponse(serial: number, value?: bigint): Buffer {
  const fields = Buffer.from([5, 1, 'u'.charCodeAt(0), 0, 0, 0, 0, 0]);
  fields.writeUInt32LE(serial, 4);
  const signature = Buffer.from([8, 1, 'g'.charCodeAt(0), 0, 1, 'v'.charCodeAt(0), 0]);
  const body = Buffer.alloc(16);
  body.set([1, 't'.charCodeAt(0), 0]);
  body.writeBigUInt64LE(value ?? 0n, 8);
  const header = Buffer.alloc(16);
  header.set(['l'.charCodeAt(0), 2, 0, 1]);
  header.writeUInt32LE(value === undefined ? 0 : body.length, 4);
  header.writeUInt32LE(1, 8);
  header.writeUInt32LE(value === undefined ? fields.length : fields.length + signature.length, 12);
  return Buffer.concat(
    value === undefined ? [header, fields] : [header, fields, signature, Buffer.of(0), body],
  );
}

function encodeShutdown(begins: boolean): Buffer {
  const bytes = encodeCall(
    {
      destination: 'all',
      path: '/org/freedesktop/login1',
      interface: 'org.freedesktop.login1.Manager',
      member: 'PrepareForShutdown',
      signature: 'b',
      body: [begins ? 1 : 0],
    },
    1,
  );
  bytes.writeUInt8(SIGNAL, 1);
  return bytes;
}

/** Accepts every client, and responds to its calls. */
function serve(socket: Socket, called: (message: DBusMessage) => bigint | undefined): void {
  let came = Buffer.alloc(0);
  let isIn = false;
  socket.on('error', () => undefined);
  socket.on('data', (chunk: Buffer) => {
    came = Buffer.concat([came, chunk]);
    if (!isIn) {
      if (came.includes('AUTH EXTERNAL')) socket.write('OK 0123456789abcdef0123456789abcdef\r\n');
      const begin = came.indexOf('BEGIN\r\n');
      came = begin < 0 ? Buffer.alloc(0) : came.subarray(begin + 'BEGIN\r\n'.length);
      isIn = begin >= 0;
    }
    if (!isIn) return;
    for (let next = decodeMessage(came); next !== undefined; next = decodeMessage(came)) {
      came = came.subarray(next.length);
      socket.write(encodeResponse(next.message.serial, called(next.message)));
    }
  });
}

/** @param folder of the test, with a short path */
export async function startTestLoginManager(folder: string): Promise<TestLoginManager> {
  const [path, programs] = [join(folder, 'bus'), join(folder, 'bin')];
  await mkdir(programs);
  // Holds the lock like the real program: until its input ends.
  await writeFile(join(programs, 'systemd-inhibit'), '#!/bin/sh\nexec cat\n');
  await chmod(join(programs, 'systemd-inhibit'), 0o755);
  const sockets = new Set<Socket>();
  const listened = Promise.withResolvers<void>();
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.once('close', () => sockets.delete(socket));
    serve(socket, ({ member }) => {
      if (member === 'AddMatch') listened.resolve();
      return member === 'Get' ? MAX_DELAY_US : undefined;
    });
  });
  await new Promise<void>((resolve) => server.listen(path, resolve));
  return {
    env: {
      DBUS_SYSTEM_BUS_ADDRESS: `unix:path=${path}`,
      PATH: `${programs}:${process.env['PATH'] ?? ''}`,
    },
    listened: listened.promise,
    prepareForShutdown(begins) {
      for (const socket of sockets) socket.write(encodeShutdown(begins));
    },
    async [Symbol.asyncDispose]() {
      for (const socket of sockets) socket.destroy();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
