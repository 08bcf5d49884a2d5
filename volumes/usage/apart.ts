/** Volumes that may keep those waiting who ask for their numbers: file systems of servers and of programs, by a
 *  process that can be given up; volumes whose drivers know better, by the driver. All in bounded time. */
import { asError, type Clock, sleep } from '#api/kit/clock.ts';
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

/** One round of asking. */
export interface ApartRound {
  /** @returns undefined where there is no answer, or none in time */
  measure(volume: Apart, signal: AbortSignal): Promise<Measured | undefined>;
}

export interface ApartMeasure {
  /** What is asked in one round is asked once for volumes of the same file system. */
  begin(): ApartRound;
  /** Names of the sources whose drivers are asked. */
  readonly asked: readonly string[];
}

/** For one volume, in ms. */
const PATIENCE_MS = 10_000;
const AT_ONCE = 4;
const FORMAT = '%S %b %a %f %c %d';

/** What `stat --file-system` says in this format. Pure. @throws RangeError for another text */
export function parseStatFs(text: string): FsSpace {
  const words = text.trim().split(' ');
  const [size = 0, blocks = 0, available = 0, free = 0, inodes = 0, inodesFree = 0] = words.map(Number);
  if (words.length !== 6 || words.some((word) => !/^\d+$/.test(word))) {
    throw new RangeError(`not the numbers of a file system: ${JSON.stringify(text.slice(0, 100))}`);
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
      timeoutMs: PATIENCE_MS,
    });
    if (code !== 0) throw new Error(stderr.trim().slice(0, 300));
    return ofFileSystem(parseStatFs(stdout));
  }

  /** Each change of whether a volume answers is told once. */
  function note(path: string, failure: unknown): void {
    if (failure === undefined && silent.delete(path)) log.info({ path }, 'Volume tells its use again');
    if (failure === undefined || silent.has(path)) return;
    silent.add(path);
    log.warn({ path, err: asError(failure) }, 'Volume does not tell its use: its numbers are out of date');
  }

  return {
    asked: [...drivers.keys()],
    begin() {
      const limiter = createLimiter(AT_ONCE);
      const answers = new Map<string, Promise<VolumeFigures>>();

      async function ask(volume: Apart, signal: AbortSignal): Promise<VolumeFigures | undefined> {
        const { podUID, name: volumeName, source, path, mount } = volume;
        const driver = drivers.get(source.slice(source.indexOf('~') + 1));
        const own = await driver?.({ podUID, volumeName, path }, signal);
        if (own !== undefined || mount === undefined) return own;
        const { point, device } = mount;
        const answer = answers.get(device) ?? statFs(point, signal);
        answers.set(device, answer);
        return answer;
      }

      async function askInTime(volume: Apart, signal: AbortSignal): Promise<VolumeFigures | undefined> {
        const late = new AbortController();
        const asking = ask(volume, AbortSignal.any([signal, late.signal]));
        asking.catch(() => undefined);
        const patience = sleep(clock, PATIENCE_MS, AbortSignal.any([signal, late.signal]));
        try {
          return await Promise.race([
            asking,
            patience.then(() => Promise.reject(new Error(`no answer within ${PATIENCE_MS / 1000} s`))),
          ]);
        } finally {
          patience.catch(() => undefined);
          late.abort(new Error('nobody waits for it any more'));
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
