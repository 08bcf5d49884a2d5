/** Sends datagrams to a unix socket through the C library, as Node has no API for it. */
import { endianness } from 'node:os';

export interface DatagramSender {
  /** Sends one datagram without blocking. @throws DatagramError */
  send(payload: Uint8Array): void;
  close(): void;
}

/** A failed call of the C library. */
export class DatagramError extends Error {
  readonly errno: number;

  constructor(call: string, address: string, errno: number) {
    super(`${call} for the socket ${address} failed with errno ${errno}`);
    this.name = 'DatagramError';
    this.errno = errno;
  }
}

/** From linux/socket.h and bits/socket.h; the same on every architecture of Linux but MIPS. */
const AF_UNIX = 1;
const SOCK_DGRAM = 2;
const SOCK_CLOEXEC = 0o2000000;
const MSG_NOSIGNAL = 0x4000;
const MSG_DONTWAIT = 0x40;
/** Bytes of sun_path. */
const PATH_BYTES = 108;

/** Returns the kernel's sockaddr_un of a path, or of an abstract name that starts with `@`.
 *  @throws RangeError when it is too long
 *  @see https://man7.org/linux/man-pages/man7/unix.7.html */
export function encodeUnixAddress(address: string): Buffer {
  const abstract = address.startsWith('@');
  const name = Buffer.from(abstract ? `\0${address.slice(1)}` : `${address}\0`);
  if (name.length > PATH_BYTES)
    throw new RangeError(`socket path ${address} is longer than ${PATH_BYTES} bytes`);
  const family = Buffer.alloc(2);
  if (endianness() === 'LE') family.writeUInt16LE(AF_UNIX);
  else family.writeUInt16BE(AF_UNIX);
  return Buffer.concat([family, name]);
}

/** Opens a socket for sending to the address. The C library is loaded on first use.
 *  @throws DatagramError, RangeError */
export async function openDatagramSender(address: string): Promise<DatagramSender> {
  const target = encodeUnixAddress(address);
  const { default: koffi } = await import('koffi');
  const libc = koffi.load(null);
  const socket = libc.func('int socket(int domain, int type, int protocol)');
  const sendto = libc.func(
    'intptr_t sendto(int fd, const void *data, size_t length, int flags, const void *address, uint32_t addressLength)',
  );
  const close = libc.func('int close(int fd)');
  const call = (name: string, result: unknown): number => {
    if (typeof result !== 'number' || result < 0) throw new DatagramError(name, address, koffi.errno());
    return result;
  };

  const fd = call('socket', socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  return {
    send(payload) {
      const flags = MSG_NOSIGNAL | MSG_DONTWAIT;
      call('sendto', sendto(fd, payload, payload.length, flags, target, target.length));
    },
    close: () => void call('close', close(fd)),
  };
}
