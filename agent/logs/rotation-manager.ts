/** Rotates the logs of running containers when they have grown too large. One `stat` per container and round. */
import { lstat } from 'node:fs/promises';
import { asError, type Clock } from '#api/kit/clock.ts';
import type { Logger } from '#api/kit/logger.ts';
import { createLoop } from '#api/kit/loop.ts';
import { rotateFiles } from './rotate-files.ts';

export interface LogRotator {
  /** One round over all containers. Errors of one are logged and hold up no other. */
  rotateOnce(signal: AbortSignal): Promise<void>;
  /** A round at once and then every 10 s, until the signal fires. Never rejects. */
  run(signal: AbortSignal): Promise<void>;
}

/** A container whose log the runtime is writing. */
export interface LoggingContainer {
  readonly containerID: string;
  readonly logPath: string;
}

export interface LogRotatorDeps {
  readonly clock: Clock;
  readonly log: Logger;
  /** The containers that run now, from what is known already: asked for in each round. */
  readonly listRunning: () => Iterable<LoggingContainer>;
  /** The runtime's ReopenContainerLog. */
  readonly reopenContainerLog: (containerID: string, signal: AbortSignal) => Promise<void>;
}

export interface LogRotatorOptions {
  /** The pod logs directory; a log that really lies outside is left alone. */
  readonly podLogsDir: string;
  /** Size from which a log is rotated; negative turns rotation off. */
  readonly maxSizeBytes: number;
  /** Files kept of one container, the current one included; at least 2. */
  readonly maxFiles: number;
  /** Time between two rounds in ms; 10 s unless given. */
  readonly intervalMs?: number;
}

const INTERVAL_MS = 10_000;

/** Size of a plain file in bytes; undefined when there is none. */
async function logSize(path: string): Promise<number | undefined> {
  try {
    const stat = await lstat(path);
    return stat.isFile() ? stat.size : 0;
  } catch (thrown) {
    const error = asError(thrown);
    if ('code' in error && error.code === 'ENOENT') return undefined;
    throw error;
  }
}

export function createLogRotator(deps: LogRotatorDeps, options: LogRotatorOptions): LogRotator {
  const { clock, log } = deps;
  const { podLogsDir, maxSizeBytes, maxFiles, intervalMs = INTERVAL_MS } = options;

  async function rotateOne({ containerID, logPath }: LoggingContainer, signal: AbortSignal): Promise<void> {
    const reopen = (inner: AbortSignal): Promise<void> => deps.reopenContainerLog(containerID, inner);
    const size = await logSize(logPath);
    // A rotation was cut short between its rename and the runtime's reopening.
    if (size === undefined) return await reopen(signal);
    if (size < maxSizeBytes) return;
    const nowMs = clock.now();
    await rotateFiles({ logPath, root: podLogsDir, policy: { maxFiles }, nowMs, reopen, signal });
    log.debug({ containerID, logPath, sizeBytes: size }, 'Container log rotated');
  }

  async function rotateOnce(signal: AbortSignal): Promise<void> {
    if (maxSizeBytes < 0) return;
    for (const container of deps.listRunning()) {
      if (signal.aborted) return;
      if (container.logPath === '') continue;
      try {
        await rotateOne(container, signal);
      } catch (thrown) {
        if (signal.aborted) return;
        log.warn(
          { err: asError(thrown), containerID: container.containerID },
          'Container log rotation failed',
        );
      }
    }
  }

  return {
    rotateOnce,
    async run(signal) {
      const loop = createLoop({
        clock,
        async step(inner) {
          await rotateOnce(inner);
          return clock.now() + intervalMs;
        },
        onError: (err) => log.error({ err }, 'Container log rotation round failed'),
      });
      loop.wake();
      await loop.run(signal);
    },
  };
}
