/** Filter: limit of volumes per CSI driver and node. A volume counts once, however many pods use it. In-tree
 *  volumes count where the node has migrated their plugin to a driver. Inline CSI volumes do not count, as
 *  upstream: they are never attached. Source: upstream's limits of CSI volumes, release 1.24. */

import type { Volume } from '#api/gen/core-v1.ts';
import { driverOfPlugin, migrateSource } from '#api/meta/csi-migration.ts';
import { claimState } from '../fleet/claims.ts';
import type { FleetView } from '../fleet/fleet.ts';
import type { NodeInfo } from '../fleet/model.ts';
import { check, type Filter, resolvable } from './filter.ts';

const REFUSAL = resolvable('node(s) exceed max volume count');

interface DriverVolume {
  readonly driver: string;
  readonly handle: string;
  /** The older plugin that it is of. */
  readonly plugin?: string;
}

/** Driver and volume of a claim, current or after binding. */
function volumeOf(claimKey: string, { volumes }: FleetView): DriverVolume | undefined {
  const claim = volumes.claim(claimKey);
  const state = claim && claimState(claim, volumes);
  if (state?.kind === 'waiting') {
    const { provisioner } = state.storageClass;
    const handle = `claim ${claimKey}`;
    const driver = driverOfPlugin(provisioner, volumes.migration);
    return driver === undefined ? { driver: provisioner, handle } : { driver, handle, plugin: provisioner };
  }
  if (state?.kind !== 'bound') return undefined;
  const { metadata, spec = {} } = state.volume;
  if (spec.csi !== undefined) return { driver: spec.csi.driver, handle: spec.csi.volumeHandle };
  return migrated(migrateSource(spec, { ...volumes.migration, labels: metadata?.labels ?? {} }));
}

const migrated = (found: ReturnType<typeof migrateSource>): DriverVolume | undefined =>
  found && { driver: found.driver, handle: found.volumeHandle, plugin: found.plugin };

const diskOf = (disk: Volume, { volumes }: FleetView): DriverVolume | undefined =>
  migrated(migrateSource(disk, volumes.migration));

/** All that the node has, or is to have. */
function* volumesOn({ claims, pods }: NodeInfo, fleet: FleetView): Generator<DriverVolume | undefined> {
  for (const key of claims.keys()) yield volumeOf(key, fleet);
  for (const { shape } of pods.values()) for (const disk of shape.disks) yield diskOf(disk, fleet);
}

export const volumeLimits: Filter = {
  name: 'NodeVolumeLimits',
  wokenBy: ['podGone', 'nodeAdded', 'volumes'],
  looksAround: false,
  prepare({ shape }, fleet) {
    const wanted = [
      ...shape.claims.map((name) => volumeOf(`${shape.namespace}/${name}`, fleet)),
      ...shape.disks.map((disk) => diskOf(disk, fleet)),
    ].filter((volume) => volume !== undefined);
    if (wanted.length === 0) return undefined;
    return check((node) => {
      const limits = fleet.volumes.limits(node.name);
      if (!wanted.some(({ driver }) => limits.has(driver))) return undefined;
      const left = fleet.volumes.migrates(node.name);
      const counts = ({ plugin }: DriverVolume): boolean => plugin === undefined || left.has(plugin);
      const here = wanted.filter(counts);
      for (const driver of new Set(here.map((volume) => volume.driver))) {
        const limit = limits.get(driver);
        if (limit === undefined) continue;
        const handles = new Set<string>();
        for (const volume of volumesOn(node, fleet)) {
          if (volume?.driver === driver && counts(volume)) handles.add(volume.handle);
        }
        const before = handles.size;
        for (const volume of here) if (volume.driver === driver) handles.add(volume.handle);
        if (handles.size > before && handles.size > limit) return REFUSAL;
      }
      return undefined;
    });
  },
};
