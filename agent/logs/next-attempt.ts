/** The number of a container's next instance, as far as its logs tell: a container whose instances have disappeared from the
 *  runtime was started before all the same, and its logs are not to be written over.
 *  Source: upstream 1.24, restart count of containers that the runtime does not know. */
import { readdir } from 'node:fs/promises';
import { dirname } from 'node:path';
import { containerLogPath, type PodLogIdentity } from './paths.ts';

/** `0.log`, and what rotation makes of it. */
const LOG_NAME = /^(\d{1,9})\.log(?:\..*)?$/;

/** One more than the highest attempt that has a log; 0 where there is none or it can't be read. Never rejects. */
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
