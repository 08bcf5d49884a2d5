/** Small process that keeps a connection to the runtime open after the agent was killed, for as long as its
 *  calls in flight may take. It sends and reads nothing itself. */
import { spawn } from 'node:child_process';
import type { Logger } from '#api/kit/logger.ts';
import type { HoldConnection } from '#cri/client/lasting-channel.ts';

/** Duration of the longest call that creates or starts something, in seconds. */
const LONGEST_CALL_SECONDS = 240;

/** Reads `1` and `0` from the agent: calls are in flight, or none. Waits for them when the agent is gone. */
const SCRIPT = 'calls=0; while read -r line; do calls=$line; done; [ "$calls" = 0 ] || exec sleep "$1"';

/** Holds connections through a shell, the smallest program that every machine has. */
export function createConnectionHolder(
  log: Logger,
  lastSeconds: number = LONGEST_CALL_SECONDS,
): HoldConnection {
  return (fd) => {
    const child = spawn('/bin/sh', ['-c', SCRIPT, 'nodeagent-connection', String(lastSeconds)], {
      // Detached from the agent's terminal and process group: signals that kill the agent must not kill the
      // holder.
      detached: true,
      cwd: '/',
      env: { PATH: '/usr/bin:/bin' },
      stdio: ['pipe', 'ignore', 'ignore', fd],
    });
    const { stdin } = child;
    child.on('error', (err) =>
      log.warn({ err }, 'Failed to start connection holder; runtime calls end with the agent'),
    );
    stdin?.on('error', () => undefined);
    child.unref();
    return {
      underWay: (some) => void stdin?.write(some ? '1\n' : '0\n'),
      release: () => void child.kill(),
    };
  };
}
