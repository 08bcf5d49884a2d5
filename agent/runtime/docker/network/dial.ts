/** Opens TCP connections inside network namespaces. A socket belongs to the namespace in which it is created: the
 *  thread enters it only for that system call, without yielding. */
import { closeSync, constants, openSync } from 'node:fs';
import { Socket } from 'node:net';
import { asError } from '#api/kit/errno.ts';

const CLONE_NEWNET = 0x40_00_00_00;
const AF_INET = 2;
const AF_INET6 = 10;
const SOCK_STREAM = 1;
const SOCK_NONBLOCK = 0o4000;
const SOCK_CLOEXEC = 0o2000000;
const EINPROGRESS = 115;

/** The connection could not be established. */
class DialError extends Error {
  override readonly name = 'DialError';
}

interface SystemCalls {
  readonly setns: (fd: number, type: number) => number;
  readonly socket: (family: number, type: number, protocol: number) => number;
  readonly connect: (fd: number, address: Uint8Array, length: number) => number;
  readonly errno: () => number;
}

async function loadCalls(): Promise<SystemCalls> {
  const { default: koffi } = await import('koffi');
  const libc = koffi.load('libc.so.6');
  return {
    setns: libc.func('int setns(int, int)'),
    socket: libc.func('int socket(int, int, int)'),
    connect: libc.func('int connect(int, const uint8_t *, uint32_t)'),
    errno: () => koffi.errno(),
  };
}

/** Formats the loopback address as a `sockaddr_in` or `sockaddr_in6`. */
export function loopbackAddress(family: 4 | 6, port: number): Uint8Array {
  const bytes = Buffer.alloc(family === 4 ? 16 : 28);
  bytes.writeUInt16LE(family === 4 ? AF_INET : AF_INET6, 0);
  bytes.writeUInt16BE(port, 2);
  if (family === 4) bytes.set([127, 0, 0, 1], 4);
  else bytes[23] = 1;
  return bytes;
}

/** Returns a nonblocking socket that is connecting. Synchronous: nothing else may run in the namespace. */
function openInside(calls: SystemCalls, namespace: string, family: 4 | 6, port: number): number {
  const own = openSync('/proc/thread-self/ns/net', constants.O_RDONLY);
  const other = openSync(namespace, constants.O_RDONLY);
  try {
    if (calls.setns(other, CLONE_NEWNET) !== 0) {
      throw new DialError(`cannot enter the network namespace ${namespace}: error ${calls.errno()}`);
    }
    let fd: number;
    try {
      const type = SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC;
      fd = calls.socket(family === 4 ? AF_INET : AF_INET6, type, 0);
    } finally {
      // Everything after this would run in the network of the pod.
      if (calls.setns(own, CLONE_NEWNET) !== 0) process.abort();
    }
    if (fd < 0) throw new DialError(`cannot create a socket: error ${calls.errno()}`);
    const address = loopbackAddress(family, port);
    if (calls.connect(fd, address, address.byteLength) !== 0 && calls.errno() !== EINPROGRESS) {
      const code = calls.errno();
      closeSync(fd);
      throw new DialError(`cannot connect to port ${port}: error ${code}`);
    }
    return fd;
  } finally {
    closeSync(own);
    closeSync(other);
  }
}

/** Resolves when the connection is established. */
function connected(fd: number, port: number): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const socket = new Socket({ fd, readable: true, writable: true, allowHalfOpen: true });
    const fail = (thrown: unknown): void => {
      socket.destroy();
      reject(new DialError(`cannot connect to port ${port}: ${asError(thrown).message}`, { cause: thrown }));
    };
    socket.once('error', fail);
    // An empty write completes when the socket is connected.
    socket.write(new Uint8Array(0), (error) => {
      if (error !== null && error !== undefined) return fail(error);
      socket.off('error', fail);
      socket.on('error', () => undefined);
      resolve(socket);
    });
  });
}

export type DialInside = (namespace: string, port: number) => Promise<Socket>;

/** Connects to the loopback address of a network namespace, first with IPv4, then with IPv6. */
export function createDialer(): DialInside {
  let loaded: Promise<SystemCalls> | undefined;
  return async (namespace, port) => {
    const calls = await (loaded ??= loadCalls());
    try {
      return await connected(openInside(calls, namespace, 4, port), port);
    } catch (refused) {
      try {
        return await connected(openInside(calls, namespace, 6, port), port);
      } catch {
        throw refused;
      }
    }
  };
}
