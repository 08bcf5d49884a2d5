/** Disruption state of zones and their eviction rates: if most of a zone is unreachable, more likely the
 *  server has lost its connection to the zone. Pure. Source: upstream's node lifecycle controller, release
 *  1.24. */

export type ZoneState = 'Normal' | 'PartialDisruption' | 'FullDisruption';

export interface ZoneCount {
  readonly nodes: number;
  readonly unready: number;
}

const UNHEALTHY_SHARE = 0.55;
const MOST_IN_SMALL_ZONE = 50;
/** Nodes per second. */
const RATE = 0.1;
const RATE_IN_TROUBLE = 0.01;

export function zoneState({ nodes, unready }: ZoneCount): ZoneState {
  if (nodes > 0 && unready === nodes) return 'FullDisruption';
  return unready > 2 && unready / nodes >= UNHEALTHY_SHARE ? 'PartialDisruption' : 'Normal';
}

/** Evicted nodes per second in each zone; 0: none. No eviction happens when all zones are disrupted. */
export function evictionRates(zones: ReadonlyMap<string, ZoneCount>): ReadonlyMap<string, number> {
  const states = new Map([...zones].map(([name, count]) => [name, zoneState(count)]));
  const allLost = [...states.values()].every((state) => state === 'FullDisruption');
  return new Map(
    [...zones].map(([name, { nodes }]) => {
      if (allLost) return [name, 0];
      if (states.get(name) !== 'PartialDisruption') return [name, RATE];
      return [name, nodes > MOST_IN_SMALL_ZONE ? RATE_IN_TROUBLE : 0];
    }),
  );
}
