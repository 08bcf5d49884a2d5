/** A connection to systemd's manager itself, as its own tools have it: it needs no bus, and is root's alone. */
import { createConnection, type Socket } from 'node:net';
import { asError } from '#api/kit/clock.ts';
import { BusFormatError, decodeReply, encodeManagerCall, type ManagerCall } from './message.ts';

export const MANAGER_SOCKET = '/run/systemd/private';

/** systemd refused a call, or is not there. */
export class SystemdError extends Error {
  override readonly name = 'SystemdError';
  /** The name of the error on the bus; empty where systemd did not answer. */
  readonly errorName: string;

  constructor(message: string, errorName: string, options?: ErrorOptions) {
    super(message, options);
    this.errorName = errorName;
  }
}

export interface SystemdManager {
  /** @throws SystemdError */
  call(call: ManagerCall): Promise<void>;
  close(): void;
}

interface Waiting {
  readonly call: ManagerCall;
  readonly done: () => void;
  readonly failed: (error: Error) => void;
}

const TIMEOUT_MS = 30_000;

/** Connects at the first call, and again after the connection has ended. */
export function createSystemdManager(path: string = MANAGER_SOCKET): SystemdManager {
  let connection: Promise<Connection> | undefined;

  function connected(): Promise<Connection> {
    if (connection !== undefined) return connection;
    const opening = openConnection(path, () => {
      if (connection === opening) connection = undefined;
    });
    connection = opening;
    return opening;
  }

  return {
    call: async (call) => (await connected()).call(call),
    close: () => {
      connection?.then(
        (one) => one.close(),
        () => undefined,
      );
    },
  };
}

interface Connection {
  readonly call: (call: ManagerCall) => Promise<void>;
  readonly close: () => void;
}

/** Greets as root. Resolves with what came after the greeting. */
function authenticate(socket: Socket): Promise<Buffer> {
  const uid = Buffer.from(String(process.getuid?.() ?? 0)).toString('hex');
  return new Promise((resolve, reject) => {
    let came = Buffer.alloc(0);
    const take = (chunk: Buffer): void => {
      came = Buffer.concat([came, chunk]);
      const line = came.indexOf('\r\n');
      if (line < 0) return;
      socket.off('data', take);
      if (!came.toString('latin1', 0, line).startsWith('OK ')) {
        reject(new SystemdError('systemd does not let us in', ''));
        return;
      }
      socket.write('BEGIN\r\n');
      resolve(came.subarray(line + 2));
    };
    socket.on('data', take);
    socket.once('error', (cause) => reject(new SystemdError('systemd can not be reached', '', { cause })));
    socket.once('close', () => reject(new SystemdError('systemd hung up', '')));
    socket.write(`\0AUTH EXTERNAL ${uid}\r\n`);
  });
}

async function openConnection(path: string, ended: () => void): Promise<Connection> {
  const socket = createConnection(path);
  const waiting = new Map<number, Waiting>();
  let serial = 0;
  let came = Buffer.alloc(0);
  socket.once('close', () => {
    ended();
    for (const { failed } of waiting.values()) failed(new SystemdError('systemd hung up', ''));
    waiting.clear();
  });

  function take(chunk: Buffer): void {
    came = Buffer.concat([came, chunk]);
    try {
      for (let next = decodeReply(came); next !== undefined; next = decodeReply(came)) {
        came = came.subarray(next.length);
        const { replySerial, errorName } = next.reply;
        const asked = waiting.get(replySerial);
        waiting.delete(replySerial);
        if (asked === undefined) continue;
        const { member, unit } = asked.call;
        if (errorName === undefined) asked.done();
        else asked.failed(new SystemdError(`${member} of ${unit}: ${errorName}`, errorName));
      }
    } catch (thrown) {
      if (!(thrown instanceof BusFormatError)) throw thrown;
      socket.destroy(asError(thrown));
    }
  }

  const early = await authenticate(socket);
  socket.on('error', () => undefined);
  socket.on('data', take);
  take(early);
  return {
    call: (call) =>
      new Promise((resolve, reject) => {
        serial += 1;
        const number = serial;
        const timer = setTimeout(() => {
          waiting.delete(number);
          reject(new SystemdError(`${call.member} of ${call.unit}: no answer`, ''));
        }, TIMEOUT_MS);
        const settle =
          <T>(then: (value: T) => void) =>
          (value: T): void => {
            clearTimeout(timer);
            then(value);
          };
        waiting.set(number, { call, done: () => settle<void>(resolve)(undefined), failed: settle(reject) });
        socket.write(encodeManagerCall(call, number));
      }),
    close: () => socket.destroy(),
  };
}
