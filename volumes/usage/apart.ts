/** Usage of volumes whose measurement may block: file systems of servers and FUSE daemons, through an
 *  abortable process; volumes whose drivers report usage, through the driver. All with timeouts. */
import { type Clock, sleep } from '#api/kit/clock.ts';
import { asError } from '#api/kit/errno.ts';
import { createLimiter } from '#api/kit/limiter.ts';
import type { Logger } from '#api/kit/logger.ts';
import type { RunProgram } from '../programs/contract.ts';
import type { MeasureVolume, VolumeFigures } from './contract.ts';
import type { FsSpace } from './fs-space.ts';
import type { Apart, Measured } from './protocol.ts';

export interface ApartDeps {
  readonly clock: Clock;
  readonly log: Pick<Logger, 'info' | 'warn'>;
  readonly run: RunProgram;
  /** By the source's name without the domain, such as `csi`. */
  readonly drivers: ReadonlyMap<string, MeasureVolume>;
}

/** One round of measurements. */
export interface ApartRound {
  /** @returns undefined without a response in time */
  measure(volume: Apart, signal: AbortSignal): Promise<Measured | undefined>;
}

export interface ApartMeasure {
  /** Starts a round, which measures each file system once for all of its volumes. */
  begin(): ApartRound;
  /** Names of the sources whose drivers report usage. */
  readonly asked: readonly string[];
}

/** Timeout for one volume in ms. */
const TIMEOUT_MS = 10_000;
const AT_ONCE = 4;
const FORMAT = '%S %b %a %f %c %d';

/** Parses the output of `stat --file-system` in this format. Pure. @throws RangeError for other text */
export function parseStatFs(text: string): FsSpace {
  const fields = text.trim().split(' ');
  const [size = 0, blocks = 0, available = 0, free = 0, inodes = 0, inodesFree = 0] = fields.map(Number);
  if (fields.length !== 6 || fields.some((field) => !/^\d+$/.test(field))) {
    throw new RangeError(`not file system statistics: ${JSON.stringify(text.slice(0, 100))}`);
  }
  return {
    capacityBytes: blocks * size,
    availableBytes: available * size,
    usedBytes: (blocks - free) * size,
    inodes,
    inodesFree,
  };
}

const ofFileSystem = (space: FsSpace): VolumeFigures => ({
  ...space,
  inodesUsed: space.inodes - space.inodesFree,
});

function measured(volume: Apart, figures: VolumeFigures): Measured {
  const { podUID, of, name, source } = volume;
  const { usedBytes, inodesUsed, condition, ...space } = figures;
  return {
    podUID,
    of,
    name,
    source,
    isOwnFs: true,
    space,
    ...(usedBytes === undefined ? {} : { usedBytes }),
    ...(inodesUsed === undefined ? {} : { inodesUsed }),
    ...(condition === undefined ? {} : { condition }),
  };
}

export function createApartMeasure({ clock, log, run, drivers }: ApartDeps): ApartMeasure {
  const silent = new Set<string>();

  async function statFs(path: string, signal: AbortSignal): Promise<VolumeFigures> {
    const { code, stdout, stderr } = await run('stat', ['--file-system', `--format=${FORMAT}`, '--', path], {
      signal,
      timeoutMs: TIMEOUT_MS,
    });
    if (code !== 0) throw new Error(stderr.trim().slice(0, 300));
    return ofFileSystem(parseStatFs(stdout));
  }

  /** Logs each change of a volume's availability once. */
  function note(path: string, failure: unknown): void {
    if (failure === undefined && silent.delete(path)) log.info({ path }, 'Volume usage available again');
    if (failure === undefined || silent.has(path)) return;
    silent.add(path);
    log.warn({ path, err: asError(failure) }, 'Volume usage unavailable; statistics are out of date');
  }

  return {
    asked: [...drivers.keys()],
    begin() {
      const limiter = createLimiter(AT_ONCE);
      const results = new Map<string, Promise<VolumeFigures>>();

      async function ask(volume: Apart, signal: AbortSignal): Promise<VolumeFigures | undefined> {
        const { podUID, name: volumeName, source, path, mount } = volume;
        const driver = drivers.get(source.slice(source.indexOf('~') + 1));
        const own = await driver?.({ podUID, volumeName, path }, signal);
        if (own !== undefined || mount === undefined) return own;
        const { point, device } = mount;
        const result = results.get(device) ?? statFs(point, signal);
        results.set(device, result);
        return result;
      }

      async function askInTime(volume: Apart, signal: AbortSignal): Promise<VolumeFigures | undefined> {
        const late = new AbortController();
        const asking = ask(volume, AbortSignal.any([signal, late.signal]));
        asking.catch(() => undefined);
        const patience = sleep(clock, TIMEOUT_MS, AbortSignal.any([signal, late.signal]));
        try {
          return await Promise.race([
            asking,
            patience.then(() => Promise.reject(new Error(`no response within ${TIMEOUT_MS / 1000} s`))),
          ]);
        } finally {
          patience.catch(() => undefined);
          late.abort(new Error('the result is no longer needed'));
        }
      }

      return {
        measure: (volume, signal) =>
          limiter.run(async () => {
            try {
              const figures = await askInTime(volume, signal);
              note(volume.path, undefined);
              return figures === undefined ? undefined : measured(volume, figures);
            } catch (thrown) {
              if (!signal.aborted) note(volume.path, thrown);
              return undefined;
            }
          }),
      };
    },
  };
}
