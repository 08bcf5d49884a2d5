/** Filter: a claim with the access mode ReadWriteOncePod has one pod, on whichever node. Source: upstream's volume
 *  restrictions, release 1.24. */
import type { FleetView } from '../fleet/fleet.ts';
import { type Filter, lasting } from './filter.ts';

const IN_USE = lasting(
  'node has pod using PersistentVolumeClaim with the same name and ReadWriteOncePod access mode',
);

const isSinglePod = (key: string, { volumes }: FleetView): boolean =>
  volumes.claim(key)?.spec?.accessModes?.includes('ReadWriteOncePod') === true;

const isUsed = (key: string, { nodes }: FleetView): boolean => nodes.some(({ claims }) => claims.has(key));

export const singlePodClaims: Filter = {
  name: 'VolumeRestrictions',
  wokenBy: ['podGone', 'volumes'],
  looksAround: true,
  prepare({ shape }, fleet) {
    if (shape.claims.length === 0 || !fleet.gates.has('ReadWriteOncePod')) return undefined;
    const keys = shape.claims.map((name) => `${shape.namespace}/${name}`);
    const isTaken = keys.some((key) => isSinglePod(key, fleet) && isUsed(key, fleet));
    return isTaken ? { kind: 'none', refusal: IN_USE } : undefined;
  },
};
