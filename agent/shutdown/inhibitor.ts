/** Holds up the shutdown of the machine. The lock is a descriptor that comes over the bus, which Node can't receive:
 *  a child process holds it, and lets go when its input ends, so also when this process is gone. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { asError } from '#api/kit/clock.ts';

export interface Inhibitor {
  /** Lets the shutdown go on. */
  release(): Promise<void>;
  /** Resolves when the lock is gone, by whomever. */
  readonly gone: Promise<void>;
}

/** A lock that could not be had. */
export class InhibitorError extends Error {
  override readonly name = 'InhibitorError';
}

const WHY = 'pods are to end before the machine does';
const HELD = 'held';

/** Resolves when the lock is held. @throws InhibitorError */
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
    child.once('error', (cause) => reject(new InhibitorError('systemd-inhibit could not be run', { cause })));
    child.once('exit', () => reject(new InhibitorError(`systemd-inhibit ended: ${said.trim()}`)));
  });
  // The program runs what it was told when it has the lock: what comes back through it is the proof.
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
