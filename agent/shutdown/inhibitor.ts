/** Inhibitor lock that delays the machine shutdown. The lock is a file descriptor received over the bus,
 *  which Node does not support: a child process holds it, and releases it when its input closes, also when
 *  this process dies. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { asError } from '#api/kit/errno.ts';

export interface Inhibitor {
  /** Releases the lock, so that the shutdown continues. */
  release(): Promise<void>;
  /** Resolves when the lock is released, by either side. */
  readonly gone: Promise<void>;
}

/** Failed to acquire the lock. */
class InhibitorError extends Error {
  override readonly name = 'InhibitorError';
}

const WHY = 'terminate pods before the machine shuts down';
const HELD = 'held';

/** Resolves when the lock is acquired. @throws InhibitorError */
export async function inhibitShutdown(who: string): Promise<Inhibitor> {
  const child = spawn(
    'systemd-inhibit',
    ['--what=shutdown', '--mode=delay', `--who=${who}`, `--why=${WHY}`, 'cat'],
    { stdio: ['pipe', 'pipe', 'pipe'] },
  );
  let said = '';
  child.stderr.on('data', (chunk: Buffer) => {
    if (said.length < 1000) said += chunk.toString();
  });
  child.stdin.on('error', () => undefined);
  const gone = new Promise<void>((resolve) => {
    child.once('close', () => resolve());
  });
  const failed = new Promise<never>((_, reject) => {
    child.once('error', (cause) => reject(new InhibitorError('cannot run systemd-inhibit', { cause })));
    child.once('exit', () => reject(new InhibitorError(`systemd-inhibit exited: ${said.trim()}`)));
  });
  // systemd-inhibit runs its command once it holds the lock: the echoed input confirms it.
  child.stdin.write(HELD);
  try {
    await Promise.race([once(child.stdout, 'data'), failed]);
  } catch (thrown) {
    child.kill('SIGKILL');
    throw asError(thrown);
  }
  failed.catch(() => undefined);
  child.stdout.resume();
  return {
    gone,
    async release() {
      child.stdin.end();
      await gone;
    },
  };
}
