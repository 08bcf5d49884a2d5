/** Start and end time of the last graceful shutdown, persisted for reports after the next boot.
 *  Source: upstream's node shutdown manager (its metrics and its file), release 1.24. */
import type { Clock } from '#api/kit/clock.ts';
import { asError } from '#api/kit/errno.ts';
import type { Logger } from '#api/kit/logger.ts';
import type { MetricsRegistry } from '#api/kit/metrics.ts';
import type { StateFile } from '../resources/state/state-file.ts';

/** Name of the file in the root directory, as upstream's. */
export const SHUTDOWN_STATE = 'graceful_node_shutdown_state';

export interface ShutdownTimes {
  /** Loads the times of an earlier run into the metrics. */
  load(): Promise<void>;
  began(): void;
  /** Resolves once the end time is persisted. */
  ended(): Promise<void>;
}

export interface ShutdownTimesDeps {
  readonly clock: Pick<Clock, 'now'>;
  readonly log: Pick<Logger, 'warn'>;
  readonly registry: MetricsRegistry;
  readonly file: StateFile;
}

/** Content of the file; a shutdown that did not complete has no end. */
interface Times {
  readonly startTime: string;
  readonly endTime?: string;
}

/** @throws Error for an invalid text */
function parseTimes(text: string): Partial<Times> {
  const parsed: unknown = JSON.parse(text);
  if (typeof parsed !== 'object' || parsed === null) return {};
  const timeOf = (value: unknown): string | undefined =>
    typeof value === 'string' && Date.parse(value) > 0 ? value : undefined;
  const startTime = timeOf('startTime' in parsed ? parsed.startTime : undefined);
  const endTime = timeOf('endTime' in parsed ? parsed.endTime : undefined);
  return {
    ...(startTime === undefined ? {} : { startTime }),
    ...(endTime === undefined ? {} : { endTime }),
  };
}

const seconds = (time: string | undefined): number =>
  time === undefined ? 0 : Math.floor(Date.parse(time) / 1000);

export function createShutdownTimes({ clock, log, registry, file }: ShutdownTimesDeps): ShutdownTimes {
  const start = registry.gauge({
    name: 'graceful_shutdown_start_time_seconds',
    help: 'Last graceful shutdown start time since unix epoch in seconds',
  });
  const end = registry.gauge({
    name: 'graceful_shutdown_end_time_seconds',
    help: 'Last graceful shutdown end time since unix epoch in seconds',
  });
  let last: Partial<Times> = {};

  function show(times: Partial<Times>): void {
    last = times;
    start.with().set(seconds(times.startTime));
    end.with().set(seconds(times.endTime));
  }
  const now = (): string => new Date(clock.now()).toISOString();
  const warn = (thrown: unknown, message: string): void =>
    log.warn({ err: asError(thrown), file: file.path }, message);
  show({});

  return {
    async load() {
      try {
        const text = await file.read();
        if (text !== undefined) show(parseTimes(text));
      } catch (thrown) {
        warn(thrown, 'Failed to read times of the last shutdown');
      }
    },
    began() {
      show({ startTime: now() });
      file.save(JSON.stringify(last));
    },
    async ended() {
      show({ ...last, endTime: now() });
      file.save(JSON.stringify(last));
      await file.saved().catch((thrown: unknown) => warn(thrown, 'Failed to write shutdown times'));
    },
  };
}
