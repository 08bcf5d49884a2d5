/** Rotates logs of running containers that exceed their size limit, and earlier while disk space is low.
 *  One `stat` per container and round. */

import { lstat, statfs } from 'node:fs/promises';
import type { Clock } from '#api/kit/clock.ts';
import { asError, hasCode } from '#api/kit/errno.ts';
import type { Logger } from '#api/kit/logger.ts';
import { createLoop } from '#api/kit/loop.ts';
import { compressRotated, rotateFiles } from './rotate-files.ts';
import { sizeUnderPressure } from './rotation.ts';

export interface LogRotator {
  /** Runs one round over all containers. Logs the errors of one container and continues with the others. */
  rotateOnce(signal: AbortSignal): Promise<void>;
  /** Runs a round at once and then every 10 s, until the signal fires. Never rejects. */
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
  /** Returns the running containers from cached state; called in each round. */
  readonly listRunning: () => Iterable<LoggingContainer>;
  /** The runtime's ReopenContainerLog. */
  readonly reopenContainerLog: (containerID: string, signal: AbortSignal) => Promise<void>;
  /** Reports whether space for logs is low, called in each round; default: checks the file system. */
  readonly isShort?: () => Promise<boolean>;
}

export interface LogRotatorOptions {
  /** The pod logs directory; logs whose real path is outside are skipped. */
  readonly podLogsDir: string;
  /** Size at which a log is rotated; negative disables rotation. */
  readonly maxSizeBytes: number;
  /** Maximum number of files per container, including the current one; at least 2. */
  readonly maxFiles: number;
  /** Time between rounds in ms; default 10 s. */
  readonly intervalMs?: number;
}

const INTERVAL_MS = 10_000;
/** Free share of the disk below which space is low: above the default eviction threshold, which is below a
 *  tenth. */
const SHORT_BELOW = 0.15;

async function isDiskShort(dir: string): Promise<boolean> {
  try {
    const { blocks, bavail } = await statfs(dir);
    return bavail < blocks * SHORT_BELOW;
  } catch {
    return false; // no pod has run yet
  }
}

/** Returns the size of a regular file in bytes; undefined if there is none. */
async function logSize(path: string): Promise<number | undefined> {
  try {
    const stat = await lstat(path);
    return stat.isFile() ? stat.size : 0;
  } catch (thrown) {
    if (hasCode(thrown, 'ENOENT')) return undefined;
    throw thrown;
  }
}

export function createLogRotator(deps: LogRotatorDeps, options: LogRotatorOptions): LogRotator {
  const { clock, log } = deps;
  const { podLogsDir, maxSizeBytes, maxFiles, intervalMs = INTERVAL_MS } = options;
  const askIsShort = deps.isShort ?? (() => isDiskShort(podLogsDir));
  let wasShort = false;

  async function rotateOne(
    { containerID, logPath }: LoggingContainer,
    isShort: boolean,
    signal: AbortSignal,
  ): Promise<void> {
    const reopen = (inner: AbortSignal): Promise<void> => deps.reopenContainerLog(containerID, inner);
    const size = await logSize(logPath);
    // A rotation was interrupted between renaming and reopening.
    if (size === undefined) return await reopen(signal);
    if (size >= (isShort ? sizeUnderPressure(maxSizeBytes) : maxSizeBytes)) {
      const nowMs = clock.now();
      await rotateFiles({ logPath, root: podLogsDir, policy: { maxFiles }, nowMs, reopen, signal });
      log.debug({ containerID, logPath, sizeBytes: size, isShort }, 'Container log rotated');
    }
    if (isShort) await compressRotated(logPath, podLogsDir, signal);
  }

  async function rotateOnce(signal: AbortSignal): Promise<void> {
    if (maxSizeBytes < 0) return;
    const isShort = await askIsShort();
    if (isShort !== wasShort) {
      wasShort = isShort;
      log.info({ isShort }, 'Container log limits adapted to available space');
    }
    for (const container of deps.listRunning()) {
      if (signal.aborted) return;
      if (container.logPath === '') continue;
      try {
        await rotateOne(container, isShort, signal);
      } catch (thrown) {
        if (signal.aborted) return;
        log.warn(
          { err: asError(thrown), containerID: container.containerID },
          'Failed to rotate container log',
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
        onError: (err) => log.error({ err }, 'Failed to check container logs'),
      });
      loop.wake();
      await loop.run(signal);
    },
  };
}
