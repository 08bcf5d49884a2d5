/** D-Bus connection. Knows no bus and no service. */

import { createConnection, type Socket } from 'node:net';
import { asError } from '#api/kit/errno.ts';
import { createListeners } from '#api/kit/listeners.ts';
import { type DBusCall, DBusFormatError, type DBusMessage, type DBusPlain } from './message.ts';
import { decodeMessage } from './read.ts';
import { encodeCall } from './write.ts';

/** A call that was rejected or timed out, or a closed connection. */
export class DBusError extends Error {
  override readonly name = 'DBusError';
  /** Error name of the peer; empty without a reply. */
  readonly errorName: string;

  constructor(message: string, errorName: string, options?: ErrorOptions) {
    super(message, options);
    this.errorName = errorName;
  }
}

export interface DBusConnection {
  /** @throws DBusError */
  readonly call: (call: DBusCall) => Promise<readonly DBusPlain[]>;
  /** Calls the listener with every signal. */
  readonly onSignal: (listener: (message: DBusMessage) => void) => void;
  /** Resolves when the connection is closed, by either side. */
  readonly closed: Promise<void>;
  readonly close: () => void;
}

/** Timeout of a call, in ms. */
const TIMEOUT_MS = 30_000;
/** Maximum size of the reply to the authentication, one short line. */
const LONGEST_LINE = 1024;

/** Authenticates as the user of this process. Resolves with the bytes received after the handshake. */
function authenticate(socket: Socket): Promise<Buffer> {
  const uid = Buffer.from(String(process.getuid?.() ?? 0)).toString('hex');
  return new Promise((resolve, reject) => {
    let came = Buffer.alloc(0);
    const end = (cause: Error): void => reject(new DBusError('no connection', '', { cause }));
    const take = (chunk: Buffer): void => {
      came = Buffer.concat([came, chunk]);
      const line = came.indexOf('\r\n');
      if (line < 0 && came.length < LONGEST_LINE) return;
      socket.off('data', take);
      socket.off('error', end);
      const said = came.subarray(0, Math.max(line, 0)).toString('latin1');
      if (!said.startsWith('OK ')) return reject(new DBusError(`authentication rejected: ${said}`, ''));
      socket.write('BEGIN\r\n');
      resolve(came.subarray(line + 2));
    };
    socket.on('data', take);
    socket.once('error', end);
    socket.once('close', () => reject(new DBusError('the peer closed the connection', '')));
    socket.write(`\0AUTH EXTERNAL ${uid}\r\n`);
  });
}

/** Splits the received bytes into complete messages and calls the handler of each. */
function createIntake(socket: Socket, take: (message: DBusMessage) => void): (chunk: Buffer) => void {
  let came = Buffer.alloc(0);
  return (chunk) => {
    came = Buffer.concat([came, chunk]);
    try {
      for (let next = decodeMessage(came); next !== undefined; next = decodeMessage(came)) {
        came = came.subarray(next.length);
        take(next.message);
      }
    } catch (thrown) {
      if (!(thrown instanceof DBusFormatError)) throw thrown;
      socket.destroy(thrown);
    }
  };
}

interface Waiting {
  readonly call: DBusCall;
  readonly resolve: (body: readonly DBusPlain[]) => void;
  readonly reject: (error: Error) => void;
}

function settle({ call, resolve, reject }: Waiting, { type, body, errorName }: DBusMessage): void {
  if (type === 'return') return resolve(body);
  const [said = ''] = body;
  const about = [call.member, errorName, String(said)];
  reject(new DBusError(about.filter((part) => part !== '').join(': '), errorName));
}

/** @throws DBusError */
export async function connectDBus(path: string): Promise<DBusConnection> {
  const socket = createConnection(path);
  const waiting = new Map<number, Waiting>();
  const listeners = createListeners<[message: DBusMessage]>('D-Bus signals');
  const closed = new Promise<void>((resolve) => socket.once('close', () => resolve()));
  let serial = 0;

  function take(message: DBusMessage): void {
    if (message.type === 'signal') {
      listeners.notify(message);
      return;
    }
    const pending = waiting.get(message.replySerial);
    if (pending !== undefined && message.type !== 'call') settle(pending, message);
  }

  async function call(request: DBusCall): Promise<readonly DBusPlain[]> {
    if (socket.destroyed) throw new DBusError('the connection is closed', '');
    serial += 1;
    const number = serial;
    const { promise, resolve, reject } = Promise.withResolvers<readonly DBusPlain[]>();
    const timer = setTimeout(() => reject(new DBusError(`${request.member}: no response`, '')), TIMEOUT_MS);
    waiting.set(number, { call: request, resolve, reject });
    socket.write(encodeCall(request, number));
    return promise.finally(() => {
      clearTimeout(timer);
      waiting.delete(number);
    });
  }

  const early = await authenticate(socket);
  let failure: Error | undefined;
  socket.on('error', (thrown) => {
    failure = asError(thrown);
  });
  socket.once('close', () => {
    for (const { reject } of waiting.values()) {
      reject(new DBusError('the connection is closed', '', { cause: failure }));
    }
  });
  const read = createIntake(socket, take);
  socket.on('data', read);
  read(early);
  return {
    call,
    onSignal: (listener) => void listeners.add(listener),
    closed,
    close: () => socket.destroy(),
  };
}
