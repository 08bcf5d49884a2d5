/** Unix sockets with exclusive ownership. A socket on which a process listens is never replaced; one left
 *  by a dead process is. Claims are serialized by a lock on the directory, and the socket appears under
 *  its name atomically, so that two starting processes cannot both own it. Closing removes only the own
 *  socket's file. */

import { lstat, mkdir, open, rename, rm, stat } from 'node:fs/promises';
import { createConnection, type Server } from 'node:net';
import { basename, dirname, join } from 'node:path';
import { hasCode } from '../errno.ts';

/** Another process serves the socket, or the path is not a socket. */
export class SocketInUseError extends Error {
  override readonly name = 'SocketInUseError';
  readonly path: string;

  constructor(path: string, detail: string) {
    super(`${path} ${detail}`);
    this.path = path;
  }
}

export interface ClaimedSocket {
  /** Removes the file if it still belongs to this claim. Call this when the server is closed. */
  release(): Promise<void>;
}

const LOCK_EX = 2;
const LOCK_NB = 4;
/** Other processes hold the directory's lock only during a claim. */
const LOCK_MS = 5000;
const LOCK_RETRY_MS = 10;
/** Connecting succeeds at once, unless the server is busy. */
const PROBE_MS = 1000;

type Flock = (fd: number, operation: number) => number;

async function lockFolder(fd: number, path: string): Promise<void> {
  const { default: koffi } = await import('koffi');
  const flock: Flock = koffi.load('libc.so.6').func('int flock(int, int)');
  const deadline = performance.now() + LOCK_MS;
  while (flock(fd, LOCK_EX | LOCK_NB) !== 0) {
    if (performance.now() > deadline) {
      throw new SocketInUseError(path, `cannot be claimed: another process holds the lock on its folder`);
    }
    await new Promise((resolve) => setTimeout(resolve, LOCK_RETRY_MS));
  }
}

/** Reports whether a process serves the socket; a server that is too busy to accept counts. */
function isServed(path: string): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = createConnection({ path });
    const timer = setTimeout(() => end(true), PROBE_MS);
    function end(served: boolean): void {
      clearTimeout(timer);
      socket.destroy();
      resolve(served);
    }
    socket.once('connect', () => end(true));
    socket.once('error', (error) => end(!hasCode(error, 'ECONNREFUSED', 'ENOENT')));
  });
}

/** @throws SocketInUseError */
async function requireFree(path: string): Promise<void> {
  const there = await lstat(path).catch((thrown: unknown) => {
    if (hasCode(thrown, 'ENOENT')) return undefined;
    throw thrown;
  });
  if (there === undefined) return;
  if (!there.isSocket()) {
    throw new SocketInUseError(path, 'is not a socket; remove it, or choose another path');
  }
  if (await isServed(path)) {
    throw new SocketInUseError(path, 'is served by another process; stop it, or choose another path');
  }
}

function listening(server: Server, path: string): Promise<void> {
  return new Promise((resolve, reject) => {
    const failed = (error: Error): void => reject(error);
    server.once('error', failed);
    server.once('listening', () => {
      server.off('error', failed);
      resolve();
    });
    // Created under this mask, so that it is never accessible to others, not even for a moment.
    const before = process.umask(0o177);
    server.listen(path);
    process.umask(before);
  });
}

/** Makes the server listen at the path, accessible to one user only; creates the directory if needed.
 *  @param server a TCP or HTTP server that does not listen yet
 *  @throws SocketInUseError, the system's error */
export async function listenOnSocket(server: Server, path: string): Promise<ClaimedSocket> {
  const folder = dirname(path);
  await mkdir(folder, { recursive: true, mode: 0o750 });
  await using handle = await open(folder, 'r');
  await lockFolder(handle.fd, path);
  await requireFree(path);
  // Through the descriptor: the name must fit into the 107 bytes of a socket address whatever the directory's
  // length. When the server closes, it removes the name on which it listened, which has been renamed by then.
  const temporary = `.${process.pid}-${basename(path)}`.slice(0, 60);
  await rm(join(folder, temporary), { force: true });
  await listening(server, `/proc/self/fd/${handle.fd}/${temporary}`);
  const own = await stat(join(folder, temporary));
  await rename(join(folder, temporary), path);
  return {
    async release() {
      const now = await lstat(path).catch(() => undefined);
      if (now?.ino === own.ino && now.dev === own.dev) await rm(path, { force: true });
    },
  };
}
