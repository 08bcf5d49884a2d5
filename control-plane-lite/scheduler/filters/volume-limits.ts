/** How many volumes of a driver a node can have at a time. Each volume counts once, however many pods use it.
 *  Source: upstream's limits of CSI volumes, release 1.24. */
import { claimState } from '../claims.ts';
import type { FleetView } from '../fleet.ts';
import { check, type Filter, resolvable } from './filter.ts';

const REFUSAL = resolvable('node(s) exceed max volume count');

interface DriverVolume {
  readonly driver: string;
  readonly handle: string;
}

/** What a claim has, or will have once it is bound. */
function volumeOf(claimKey: string, { volumes }: FleetView): DriverVolume | undefined {
  const claim = volumes.claim(claimKey);
  const state = claim && claimState(claim, volumes);
  if (state?.kind === 'waiting')
    return { driver: state.storageClass.provisioner, handle: `claim ${claimKey}` };
  const csi = state?.kind === 'bound' ? state.volume.spec?.csi : undefined;
  return csi && { driver: csi.driver, handle: csi.volumeHandle };
}

/** Handles of the driver's volumes. */
function handlesOf(claimKeys: Iterable<string>, driver: string, fleet: FleetView): Set<string> {
  const handles = new Set<string>();
  for (const key of claimKeys) {
    const volume = volumeOf(key, fleet);
    if (volume?.driver === driver) handles.add(volume.handle);
  }
  return handles;
}

export const volumeLimits: Filter = {
  name: 'NodeVolumeLimits',
  wokenBy: ['podGone', 'nodeAdded', 'volumes'],
  looksAround: false,
  prepare({ shape }, fleet) {
    const wanted = shape.claims
      .map((name) => volumeOf(`${shape.namespace}/${name}`, fleet))
      .filter((volume) => volume !== undefined);
    if (wanted.length === 0) return undefined;
    const drivers = [...new Set(wanted.map(({ driver }) => driver))];
    return check((node) => {
      const limits = fleet.volumes.limits(node.name);
      for (const driver of drivers) {
        const limit = limits.get(driver);
        if (limit === undefined) continue;
        const handles = handlesOf(node.claims.keys(), driver, fleet);
        const before = handles.size;
        for (const volume of wanted) {
          if (volume.driver === driver) handles.add(volume.handle);
        }
        if (handles.size > before && handles.size > limit) return REFUSAL;
      }
      return undefined;
    });
  },
};
