/** A connection to the system bus. Knows no service. */
import { createConnection, type Socket } from 'node:net';
import { asError } from '#api/kit/clock.ts';
import {
  type DBusCall,
  DBusFormatError,
  type DBusMessage,
  type DBusValue,
  decodeMessage,
  encodeCall,
} from './wire.ts';

export const SYSTEM_BUS = '/run/dbus/system_bus_socket';

/** A call that was refused, or a bus that is gone. */
export class DBusError extends Error {
  override readonly name = 'DBusError';
}

export interface DBusClient {
  /** @throws DBusError */
  call(call: DBusCall): Promise<readonly DBusValue[]>;
  /** Has the listener hear of signals that match. @throws DBusError */
  listen(rule: string, listener: (message: DBusMessage) => void): Promise<void>;
  /** Resolves when the connection has ended, by whomever. */
  readonly closed: Promise<void>;
  close(): void;
}

const BUS = {
  destination: 'org.freedesktop.DBus',
  path: '/org/freedesktop/DBus',
  interface: 'org.freedesktop.DBus',
};
/** An answer to the greeting is one short line. */
const LONGEST_LINE = 1024;

/** Greets as the user that this process is. Resolves with what came after the greeting. */
function authenticate(socket: Socket): Promise<Buffer> {
  const uid = Buffer.from(String(process.getuid?.() ?? 0)).toString('hex');
  return new Promise((resolve, reject) => {
    let came = Buffer.alloc(0);
    const end = (error: Error): void => reject(error);
    const take = (chunk: Buffer): void => {
      came = Buffer.concat([came, chunk]);
      const line = came.indexOf('\r\n');
      if (line < 0 && came.length < LONGEST_LINE) return;
      socket.off('data', take);
      socket.off('error', end);
      const said = came.subarray(0, Math.max(line, 0)).toString('latin1');
      if (!said.startsWith('OK ')) return reject(new DBusError(`the bus does not let us in: ${said}`));
      socket.write('BEGIN\r\n');
      resolve(came.subarray(line + 2));
    };
    socket.on('data', take);
    socket.once('error', end);
    socket.once('close', () => reject(new DBusError('the bus hung up')));
    socket.write(`\0AUTH EXTERNAL ${uid}\r\n`);
  });
}

interface Waiting {
  readonly resolve: (body: readonly DBusValue[]) => void;
  readonly reject: (error: Error) => void;
}

/** @throws DBusError, Error of the socket */
export async function connectBus(path: string = SYSTEM_BUS): Promise<DBusClient> {
  const socket = createConnection(path);
  const waiting = new Map<number, Waiting>();
  const listeners = new Set<(message: DBusMessage) => void>();
  const closed = new Promise<void>((resolve) => socket.once('close', () => resolve()));
  let serial = 0;

  function take(message: DBusMessage): void {
    if (message.type === 'signal') {
      for (const listener of listeners) listener(message);
      return;
    }
    const asked = waiting.get(message.replySerial);
    waiting.delete(message.replySerial);
    if (message.type === 'return') asked?.resolve(message.body);
    if (message.type === 'error') {
      asked?.reject(new DBusError(`${message.errorName}: ${String(message.body[0] ?? '')}`));
    }
  }

  let came = Buffer.alloc(0);
  function read(chunk: Buffer): void {
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
  }

  function call(request: DBusCall): Promise<readonly DBusValue[]> {
    if (socket.destroyed) return Promise.reject(new DBusError('the bus is gone'));
    serial += 1;
    const number = serial;
    return new Promise((resolve, reject) => {
      waiting.set(number, { resolve, reject });
      socket.write(encodeCall(request, number));
    });
  }

  const early = await authenticate(socket);
  let failure: Error | undefined;
  socket.on('error', (thrown) => {
    failure = asError(thrown);
  });
  socket.once('close', () => {
    for (const { reject } of waiting.values()) reject(new DBusError('the bus is gone', { cause: failure }));
    waiting.clear();
  });
  socket.on('data', read);
  read(early);
  await call({ ...BUS, member: 'Hello' });
  return {
    call,
    async listen(rule, listener) {
      listeners.add(listener);
      await call({ ...BUS, member: 'AddMatch', signature: 's', body: [rule] });
    },
    closed,
    close: () => socket.destroy(),
  };
}
