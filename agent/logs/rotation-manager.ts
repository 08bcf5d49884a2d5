/** Rotates the logs of running containers when they have grown too large, and sooner while their disk is short of space.
 *  One `stat` per container and round. */
import { lstat, statfs } from 'node:fs/promises';
import { asError, type Clock } from '#api/kit/clock.ts';
import type { Logger } from '#api/kit/logger.ts';
import { createLoop } from '#api/kit/loop.ts';
import { compressRotated, rotateFiles } from './rotate-files.ts';
import { sizeUnderPressure } from './rotation.ts';

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
  /** Whether the disk of the logs is short of space, asked for in each round; looked for there unless given. */
  readonly isShort?: () => Promise<boolean>;
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
/** Share of the disk that is free: before anything is evicted for it by default, which is below a tenth. */
const SHORT_BELOW = 0.15;

async function isDiskShort(dir: string): Promise<boolean> {
  try {
    const { blocks, bavail } = await statfs(dir);
    return bavail < blocks * SHORT_BELOW;
  } catch {
    return false; // no pod was here yet
  }
}

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
  const askIsShort = deps.isShort ?? (() => isDiskShort(podLogsDir));
  let wasShort = false;

  async function rotateOne(
    { containerID, logPath }: LoggingContainer,
    isShort: boolean,
    signal: AbortSignal,
  ): Promise<void> {
    const reopen = (inner: AbortSignal): Promise<void> => deps.reopenContainerLog(containerID, inner);
    const size = await logSize(logPath);
    // A rotation was cut short between its rename and the runtime's reopening.
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
      log.info({ isShort }, 'Container logs are rotated by the space that is left');
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
