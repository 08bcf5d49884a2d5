/** Volumes that the pod's claims are bound to must be reachable from the node: their node affinity and their zones.
 *  Claims that wait for their first consumer must find a volume there, or have one made.
 *  Source: upstream's volume binding and volume zone, release 1.24. */
import type { PersistentVolume } from '#api/schema/gen/core-v1.ts';
import { chooseVolumes, claimState } from '../claims.ts';
import type { FleetView } from '../fleet.ts';
import type { NodeInfo, PodInfo, Refusal } from '../model.ts';
import { matchesNodeTerm, readNodeTerm } from '../node-terms.ts';
import { check, type Filter, lasting, type NodeCheck, type Prepared } from './filter.ts';

const CONFLICT = lasting('node(s) had volume node affinity conflict');
const NO_ZONE = lasting('node(s) had no available volume zone');
const NOT_BOUND = lasting('pod has unbound immediate PersistentVolumeClaims');
const NO_VOLUME = lasting("node(s) didn't find available persistent volumes to bind");
const LOST = lasting('node(s) unavailable due to one or more pvc(s) bound to non-existent pv(s)');

/** A volume of zones `a__b` is in both. */
const isInZone = (node: NodeInfo, label: string, zones: string): boolean => {
  const zone = node.labels[label];
  return zone !== undefined && zones.split('__').includes(zone);
};

function boundCheck({ metadata, spec }: PersistentVolume, { words }: FleetView): NodeCheck {
  const terms = spec?.nodeAffinity?.required?.nodeSelectorTerms.map(readNodeTerm);
  const zones = words.volumeZones.flatMap((label) => {
    const value = metadata?.labels?.[label];
    return value === undefined ? [] : [[label, value] as const];
  });
  return (node) => {
    if (terms !== undefined && !terms.some((term) => matchesNodeTerm(term, node))) return CONFLICT;
    return zones.every(([label, value]) => isInZone(node, label, value)) ? undefined : NO_ZONE;
  };
}

const none = (refusal: Refusal): Prepared => ({ kind: 'none', refusal });

export const volumes: Filter = {
  name: 'VolumeBinding',
  wokenBy: ['volumes', 'nodeAdded', 'nodeLabels'],
  looksAround: false,
  prepare({ shape }: PodInfo, fleet) {
    if (shape.claims.length === 0) return undefined;
    const checks: NodeCheck[] = [];
    const waiting: Parameters<typeof chooseVolumes>[0][number][] = [];
    for (const name of shape.claims) {
      const claim = fleet.volumes.claim(`${shape.namespace}/${name}`);
      if (claim === undefined || claim.metadata?.deletionTimestamp !== undefined) {
        const why = claim === undefined ? 'not found' : 'is being deleted';
        return none(lasting(`persistentvolumeclaim ${JSON.stringify(name)} ${why}`));
      }
      const state = claimState(claim, fleet.volumes);
      if (state.kind === 'unbound') return none(NOT_BOUND);
      if (state.kind === 'lost') checks.push(() => LOST);
      if (state.kind === 'bound') checks.push(boundCheck(state.volume, fleet));
      if (state.kind === 'waiting') waiting.push({ claim, storageClass: state.storageClass });
    }
    if (waiting.length > 0) {
      checks.push((node) => (chooseVolumes(waiting, node, fleet) === undefined ? NO_VOLUME : undefined));
    }
    return check((node) => {
      for (const ask of checks) {
        const refusal = ask(node);
        if (refusal !== undefined) return refusal;
      }
      return undefined;
    });
  },
};
