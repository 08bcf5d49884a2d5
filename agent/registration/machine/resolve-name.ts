/** The node's own name at the resolver, asked seldom and never waited for long: a resolver that is away must not hold
 *  up what the node reports. */
import { lookup } from 'node:dns/promises';
import { type Clock, sleep } from '#api/kit/clock.ts';

export interface NameResolverDeps {
  readonly clock: Clock;
  /** Asks the system's resolver; replaced in tests. */
  readonly lookUp?: (name: string) => Promise<readonly string[]>;
}

const KEPT_MS = 300_000;
const LONGEST_MS = 2000;

async function lookUpAll(name: string): Promise<readonly string[]> {
  return (await lookup(name, { all: true })).map(({ address }) => address);
}

/** Addresses of a name, asked anew after five minutes; those that came last while the resolver says nothing. */
export function createNameResolver(deps: NameResolverDeps, name: string): () => Promise<readonly string[]> {
  const { clock, lookUp = lookUpAll } = deps;
  let known: readonly string[] = [];
  let askedAtMs = Number.NEGATIVE_INFINITY;
  let underWay: Promise<void> | undefined;

  async function ask(): Promise<void> {
    askedAtMs = clock.monotonic();
    known = await lookUp(name).catch(() => []);
    underWay = undefined;
  }

  return async () => {
    if (underWay === undefined && clock.monotonic() - askedAtMs >= KEPT_MS) underWay = ask();
    if (underWay === undefined) return known;
    const patience = new AbortController();
    const waited = sleep(clock, LONGEST_MS, patience.signal).catch(() => undefined);
    await Promise.race([underWay, waited]);
    patience.abort();
    return known;
  };
}
