/** Establishes the agent's packet rules in both address families, and again when another program has removed
 *  them. The kernel sends no notification that a process without a netlink socket receives, so the rules are
 *  compared in the interval of upstream. */
import { type Clock, sleep } from '#api/kit/clock.ts';
import { asError } from '#api/kit/errno.ts';
import type { Logger } from '#api/kit/logger.ts';
import type { PacketFilter } from './packet-filter.ts';
import {
  type AddressFamily,
  establishingInput,
  type PacketRuleOptions,
  removingInput,
  TABLES,
  wantedChains,
} from './packet-rules.ts';

const FAMILIES: readonly AddressFamily[] = ['ipv4', 'ipv6'];
const CHECK_INTERVAL_MS = 60_000;

/** Returns the tables that were changed, as `ipv4 nat`. */
export async function establishRules(
  filter: PacketFilter,
  options: PacketRuleOptions,
  family: AddressFamily,
): Promise<readonly string[]> {
  const chains = wantedChains(options, family);
  const changed: string[] = [];
  for (const table of TABLES) {
    if (!chains.some((chain) => chain.table === table)) continue;
    const input = establishingInput(table, chains, await filter.save(family, table));
    if (input === undefined) continue;
    await filter.restore(family, table, input);
    changed.push(`${family} ${table}`);
  }
  return changed;
}

/** Removes the chains of this prefix.
 *  @throws AggregateError naming what remains */
export async function removeRules(filter: PacketFilter, prefix: string): Promise<void> {
  const errors: Error[] = [];
  for (const family of FAMILIES) {
    for (const table of TABLES) {
      try {
        const input = removingInput(table, prefix, await filter.save(family, table));
        if (input !== undefined) await filter.restore(family, table, input);
      } catch (thrown) {
        errors.push(asError(thrown));
      }
    }
  }
  if (errors.length > 0) throw new AggregateError(errors, 'packet rules were not removed completely');
}

export interface RuleMaintenanceDeps {
  readonly filter: PacketFilter;
  readonly clock: Clock;
  readonly log: Logger;
  readonly options: () => PacketRuleOptions;
  /** Subscribes to changes of the options; returns a function that ends it. */
  readonly onChange: (listener: () => void) => () => void;
}

/** Runs until the signal fires. Never rejects. */
export async function maintainRules(
  { filter, clock, log, options, onChange }: RuleMaintenanceDeps,
  signal: AbortSignal,
): Promise<void> {
  const failed = new Set<AddressFamily>();
  let early = Promise.withResolvers<void>();
  const end = onChange(() => early.resolve());
  while (!signal.aborted) {
    early = Promise.withResolvers();
    for (const family of FAMILIES) {
      try {
        const changed = await establishRules(filter, options(), family);
        if (changed.length > 0) log.info({ tables: changed }, 'Packet rules established');
        failed.delete(family);
      } catch (thrown) {
        if (signal.aborted) break;
        // A machine may lack a family or the programs: reported once.
        if (!failed.has(family))
          log.warn({ err: asError(thrown), family }, 'Failed to establish packet rules');
        failed.add(family);
      }
    }
    const over = new AbortController();
    const pause = sleep(clock, CHECK_INTERVAL_MS, AbortSignal.any([signal, over.signal])).catch(
      () => undefined,
    );
    await Promise.race([pause, early.promise]);
    over.abort();
  }
  end();
}
