/** Content of files that other programs rewrite, read again after a minute or on notification. While a file
 *  is unreadable, the last content stays in use. */
import type { Clock } from '#api/kit/clock.ts';
import { asError } from '#api/kit/errno.ts';
import type { Logger } from '#api/kit/logger.ts';
import { createSingleFlight } from '#api/kit/single-flight.ts';

export interface RenewedDeps {
  readonly clock: Pick<Clock, 'monotonic'>;
  readonly log: Pick<Logger, 'warn'>;
  /** Returns the text of a file. */
  readonly readFile: (path: string) => Promise<string>;
  /** Calls the listener when files may have been rewritten. Returns a function that ends the subscription. */
  readonly onRenewed?: (listener: () => void) => () => void;
}

export interface Renewed<T> {
  /** Returns the value, at most a minute old. @throws the error of a failed first read */
  current(signal: AbortSignal): Promise<T>;
  /** Reads at once, unless `used` is no longer the value. */
  renew(used: T | undefined, signal: AbortSignal): Promise<void>;
}

/** Age at which the files are read again. */
const RENEW_AFTER_MS = 60_000;

/** @param parse returns the value for the texts of `paths`, or throws if they are inconsistent */
export function createRenewed<T>(
  deps: RenewedDeps,
  paths: readonly string[],
  parse: (texts: readonly string[], before: T | undefined) => T,
): Renewed<T> {
  const flights = createSingleFlight<T>();
  let last: { readonly value: T } | undefined;
  let readAtMs = Number.NEGATIVE_INFINITY;
  /** Number of rewrites: a read that began before the last one may have returned old content. */
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
      // A result from before a rewrite is no better than the known value.
      if (before === renewals || last === undefined) last = { value };
    } catch (thrown) {
      if (last === undefined) throw thrown;
      deps.log.warn({ err: asError(thrown), files: paths }, 'Failed to reload credential file');
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
