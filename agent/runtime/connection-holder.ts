/** A small process that keeps a connection to the runtime open when the agent is killed, for as long as the calls
 *  under way may take. Of its own it sends and reads nothing. */
import { spawn } from 'node:child_process';
import type { Logger } from '#api/kit/logger.ts';
import type { HoldConnection } from '#cri/client/lasting-channel.ts';

/** As long as the longest call takes that makes or starts something, in seconds. */
const LONGEST_CALL_SECONDS = 240;

/** Reads `1` and `0` from the agent: some calls are under way, or none. Waits for them when the agent is gone. */
const SCRIPT = 'calls=0; while read -r line; do calls=$line; done; [ "$calls" = 0 ] || exec sleep "$1"';

/** Holds connections through a shell, the smallest program that every machine has. */
export function createConnectionHolder(
  log: Logger,
  lastSeconds: number = LONGEST_CALL_SECONDS,
): HoldConnection {
  return (fd) => {
    const child = spawn('/bin/sh', ['-c', SCRIPT, 'nodeagent-connection', String(lastSeconds)], {
      // Away from the agent's terminal and group: what ends the agent is not to end this one.
      detached: true,
      cwd: '/',
      env: { PATH: '/usr/bin:/bin' },
      stdio: ['pipe', 'ignore', 'ignore', fd],
    });
    const { stdin } = child;
    child.on('error', (err) => log.warn({ err }, 'Calls to the runtime will not outlive the agent'));
    stdin?.on('error', () => undefined);
    child.unref();
    return {
      underWay: (some) => void stdin?.write(some ? '1\n' : '0\n'),
      release: () => void child.kill(),
    };
  };
}
