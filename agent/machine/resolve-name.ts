/** Cached resolution of the node's own name with a short timeout: an unavailable resolver must not delay the
 *  node status. */
import { lookup } from 'node:dns/promises';
import { type Clock, sleep } from '#api/kit/clock.ts';

export interface NameResolverDeps {
  readonly clock: Clock;
  /** Calls the system's resolver; replaced in tests. */
  readonly lookUp?: (name: string) => Promise<readonly string[]>;
}

const TTL_MS = 300_000;
const LONGEST_MS = 2000;

async function lookUpAll(name: string): Promise<readonly string[]> {
  return (await lookup(name, { all: true })).map(({ address }) => address);
}

/** Returns the addresses of a name, refreshed after five minutes; the last known ones while the resolver
 *  fails. */
export function createNameResolver(deps: NameResolverDeps, name: string): () => Promise<readonly string[]> {
  const { clock, lookUp = lookUpAll } = deps;
  let known: readonly string[] = [];
  let refreshedAtMs = Number.NEGATIVE_INFINITY;
  let inFlight: Promise<void> | undefined;

  async function refresh(): Promise<void> {
    refreshedAtMs = clock.monotonic();
    known = await lookUp(name).catch(() => []);
    inFlight = undefined;
  }

  return async () => {
    if (inFlight === undefined && clock.monotonic() - refreshedAtMs >= TTL_MS) inFlight = refresh();
    if (inFlight === undefined) return known;
    const timeout = new AbortController();
    const waited = sleep(clock, LONGEST_MS, timeout.signal).catch(() => undefined);
    await Promise.race([inFlight, waited]);
    timeout.abort();
    return known;
  };
}
