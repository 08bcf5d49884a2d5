/** Notices when another process opens a lock file, or removes it. Source: upstream's flag
 *  `--exit-on-lock-contention`; the events are those of inotify(7). */
import { spawn } from 'node:child_process';
import { closeSync } from 'node:fs';
import koffi from 'koffi';
import { asError } from '#api/kit/errno.ts';
import type { Logger } from '#api/kit/logger.ts';

const IN_CLOEXEC = 0o2000000;
const IN_OPEN = 0x20;
const IN_DELETE_SELF = 0x400;

/** The kernel refused the watch. */
class ContentionWatchError extends Error {
  constructor(path: string, errno: number) {
    super(`--exit-on-lock-contention: ${path} cannot be watched (error number ${errno})`);
    this.name = 'ContentionWatchError';
  }
}

function openWatch(path: string): number {
  const libc = koffi.load('libc.so.6');
  const init: (flags: number) => number = libc.func('int inotify_init1(int)');
  const add: (fd: number, path: string, mask: number) => number = libc.func(
    'int inotify_add_watch(int, const char *, uint32_t)',
  );
  const fd = init(IN_CLOEXEC);
  if (fd < 0) throw new ContentionWatchError(path, koffi.errno());
  if (add(fd, path, IN_OPEN | IN_DELETE_SELF) >= 0) return fd;
  const errno = koffi.errno();
  closeSync(fd);
  throw new ContentionWatchError(path, errno);
}

/** Calls the listener once, when another process opens or removes the file. A small process reads the events:
 *  Node can wait for pipes only, and a blocking read would occupy a pool thread and delay the exit.
 *  @returns a function that ends the watch
 *  @throws ContentionWatchError */
export function watchContention(path: string, log: Pick<Logger, 'error'>, notify: () => void): () => void {
  const fd = openWatch(path);
  const reader = spawn('/bin/cat', [], { stdio: [fd, 'pipe', 'ignore'] });
  closeSync(fd);
  const end = (): void => {
    reader.stdout?.destroy();
    reader.kill('SIGKILL');
    process.removeListener('exit', end);
  };
  process.once('exit', end);
  reader.unref();
  reader.once('error', (thrown) =>
    log.error({ err: asError(thrown), path }, 'Lock file contention not watched'),
  );
  reader.stdout?.once('data', () => {
    end();
    notify();
  });
  return end;
}
