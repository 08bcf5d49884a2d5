/** The text of files that others rewrite, read again when it is a minute old, or when told so. What was read last counts while a file
 *  cannot be read. */
import { asError, type Clock } from '#api/kit/clock.ts';
import type { Logger } from '#api/kit/logger.ts';
import { createSingleFlight } from '#api/kit/single-flight.ts';

export interface RenewedDeps {
  readonly clock: Pick<Clock, 'monotonic'>;
  readonly log: Pick<Logger, 'warn'>;
  /** The text of a file. */
  readonly readFile: (path: string) => Promise<string>;
  /** Calls the listener when files may have been rewritten. Returns the function that ends this. */
  readonly onRenewed?: (listener: () => void) => () => void;
}

export interface Renewed<T> {
  /** The value, at most a minute old. @throws what the first read throws */
  current(signal: AbortSignal): Promise<T>;
  /** Reads at once, unless `used` is no longer the value. */
  renew(used: T | undefined, signal: AbortSignal): Promise<void>;
}

/** How long a value is used before the files are read again. */
export const RENEW_AFTER_MS = 60_000;

/** @param parse gives the value of the texts of `paths`, or throws where they do not fit together */
export function createRenewed<T>(
  deps: RenewedDeps,
  paths: readonly string[],
  parse: (texts: readonly string[], before: T | undefined) => T,
): Renewed<T> {
  const flights = createSingleFlight<T>();
  let last: { readonly value: T } | undefined;
  let readAtMs = Number.NEGATIVE_INFINITY;
  /** How often the files have been rewritten: what was being read then may be what was there before. */
  let renewals = 0;
  deps.onRenewed?.(() => {
    renewals += 1;
    readAtMs = Number.NEGATIVE_INFINITY;
  });

  async function read(): Promise<T> {
    const before = renewals;
    try {
      const texts = await Promise.all(paths.map((path) => deps.readFile(path)));
      const value = parse(texts, last?.value);
      // What is older than a renewal is no better than what is known.
      if (before === renewals || last === undefined) last = { value };
    } catch (thrown) {
      if (last === undefined) throw thrown;
      deps.log.warn({ err: asError(thrown), files: paths }, 'Credential file could not be read again');
    }
    if (before === renewals) readAtMs = deps.clock.monotonic();
    return last.value;
  }

  const start = (signal: AbortSignal): Promise<T> => flights.run(`read ${renewals}`, read, signal);
  return {
    current(signal) {
      const isFresh = deps.clock.monotonic() - readAtMs < RENEW_AFTER_MS;
      return last !== undefined && isFresh ? Promise.resolve(last.value) : start(signal);
    },
    async renew(used, signal) {
      if (last === undefined || last.value === used) await start(signal);
    },
  };
}
