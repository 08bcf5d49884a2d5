/** Number of the next instance of a container according to its logs: instances that are no longer in the
 *  runtime still count, and their logs must not be overwritten.
 *  Source: upstream 1.24, restart count of containers that the runtime does not know. */
import { readdir } from 'node:fs/promises';
import { dirname } from 'node:path';
import { containerLogPath, type PodLogIdentity } from './paths.ts';

/** `0.log` and its rotated files. */
const LOG_NAME = /^(\d{1,9})\.log(?:\..*)?$/;

/** Returns the highest attempt with a log plus one; 0 if there is none or it cannot be read. Never rejects. */
export async function nextAttempt(
  podLogsDir: string,
  pod: PodLogIdentity,
  containerName: string,
): Promise<number> {
  const dir = dirname(containerLogPath(podLogsDir, pod, containerName, 0));
  const names = await readdir(dir).catch(() => []);
  const attempts = names.flatMap((name) => LOG_NAME.exec(name)?.[1] ?? []).map(Number);
  return Math.max(-1, ...attempts) + 1;
}
