/** Filter: bound volumes must be reachable from the node by node affinity and zone. Claims that wait for
 *  their first consumer must find an available volume or a provisioner there. Source: upstream's volume
 *  binding and volume zone, release 1.24. */
import type { PersistentVolume, PersistentVolumeClaim } from '#api/gen/core-v1.ts';
import { chooseVolumes, claimState, type NoVolume } from '../fleet/claims.ts';
import type { FleetView } from '../fleet/fleet.ts';
import type { NodeInfo, PodInfo, Refusal } from '../fleet/model.ts';
import { matchesNodeTerm, readNodeTerm } from '../fleet/node-terms.ts';
import { check, type Filter, lasting, type NodeCheck, type Prepared } from './filter.ts';

const CONFLICT = lasting('node(s) had volume node affinity conflict');
const NO_ZONE = lasting('node(s) had no available volume zone');
const NOT_BOUND = lasting('pod has unbound immediate PersistentVolumeClaims');
const MISSING: Readonly<Record<NoVolume, Refusal>> = {
  noVolume: lasting("node(s) didn't find available persistent volumes to bind"),
  noSpace: lasting('node(s) did not have enough free storage'),
};
const LOST = lasting('node(s) unavailable due to one or more pvc(s) bound to non-existent pv(s)');

/** A volume of zones `a__b` is in both. */
const isInZone = (node: NodeInfo, label: string, zones: string): boolean => {
  const zone = node.labels[label];
  return zone !== undefined && zones.split('__').includes(zone);
};

function boundCheck({ metadata, spec }: PersistentVolume, { labelKeys }: FleetView): NodeCheck {
  const terms = spec?.nodeAffinity?.required?.nodeSelectorTerms.map(readNodeTerm);
  const zones = labelKeys.volumeZones.flatMap((label) => {
    const value = metadata?.labels?.[label];
    return value === undefined ? [] : [[label, value] as const];
  });
  return (node) => {
    if (terms !== undefined && !terms.some((term) => matchesNodeTerm(term, node))) return CONFLICT;
    return zones.every(([label, value]) => isInZone(node, label, value)) ? undefined : NO_ZONE;
  };
}

const isMadeFor = ({ metadata }: PersistentVolumeClaim, uid: string): boolean =>
  metadata?.ownerReferences?.some(({ controller, uid: owner }) => controller === true && owner === uid) ===
  true;

/** Returns the claim, or the reason why the pod cannot use it on any node. */
function claimOf(
  { shape, key, uid }: PodInfo,
  name: string,
  { volumes: known }: FleetView,
): PersistentVolumeClaim | string {
  const claim = known.claim(`${shape.namespace}/${name}`);
  const isMade = shape.madeClaims.includes(name);
  const quoted = JSON.stringify(name);
  if (claim === undefined) {
    return isMade
      ? `waiting for ephemeral volume controller to create the persistentvolumeclaim ${quoted}`
      : `persistentvolumeclaim ${quoted} not found`;
  }
  if (claim.metadata?.deletionTimestamp !== undefined) {
    return `persistentvolumeclaim ${quoted} is being deleted`;
  }
  if (!isMade || isMadeFor(claim, uid)) return claim;
  return `PVC ${shape.namespace}/${name} was not created for pod ${key} (pod is not owner)`;
}

const none = (refusal: Refusal): Prepared => ({ kind: 'none', refusal });

export const volumes: Filter = {
  name: 'VolumeBinding',
  wokenBy: ['volumes', 'nodeAdded', 'nodeLabels'],
  looksAround: false,
  prepare(pod: PodInfo, fleet) {
    const { shape } = pod;
    if (shape.claims.length === 0) return undefined;
    const checks: NodeCheck[] = [];
    const waiting: Parameters<typeof chooseVolumes>[0][number][] = [];
    for (const name of shape.claims) {
      const claim = claimOf(pod, name, fleet);
      if (typeof claim === 'string') return none(lasting(claim));
      const state = claimState(claim, fleet.volumes);
      if (state.kind === 'unbound') return none(NOT_BOUND);
      if (state.kind === 'lost') checks.push(() => LOST);
      if (state.kind === 'bound') checks.push(boundCheck(state.volume, fleet));
      if (state.kind === 'waiting') waiting.push({ claim, storageClass: state.storageClass });
    }
    if (waiting.length > 0) {
      checks.push((node) => {
        const chosen = chooseVolumes(waiting, node, fleet);
        return typeof chosen === 'string' ? MISSING[chosen] : undefined;
      });
    }
    return check((node) => {
      for (const nodeCheck of checks) {
        const refusal = nodeCheck(node);
        if (refusal !== undefined) return refusal;
      }
      return undefined;
    });
  },
};
