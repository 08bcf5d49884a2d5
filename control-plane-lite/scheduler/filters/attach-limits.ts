/** Filter: limit of cloud disks per node for nodes that attach them with the in-tree plugin instead of a CSI
 *  driver. The limit is an allocatable resource of the node, or else the maximum of the cloud's machines. A
 *  disk counts once, however many pods use it. Source: upstream's limits of volumes that are not CSI's,
 *  release 1.24. */
import type { PersistentVolumeSpec, Volume } from '#api/gen/core-v1.ts';
import type { FleetView } from '../fleet/fleet.ts';
import type { NodeInfo, PodInfo } from '../fleet/model.ts';
import { check, type Filter, resolvable } from './filter.ts';

const REFUSAL = resolvable('node(s) exceed max volume count');

/** Members that pods' volumes and PersistentVolumes have alike. */
type Disk = Pick<
  Volume & PersistentVolumeSpec,
  'awsElasticBlockStore' | 'azureDisk' | 'gcePersistentDisk'
> & {
  readonly cinder?: { readonly volumeID: string };
};

interface Cloud {
  readonly name: string;
  /** Name of the plugin, without the domain. */
  readonly plugin: string;
  /** Name of the node's allocatable resource. */
  readonly resource: string;
  /** Default if the node does not report a limit. */
  readonly most: (instanceType: string) => number;
  /** Its disk of that volume, if it is of this cloud. */
  readonly diskOf: (volume: Disk) => string | undefined;
}

/** Machines with other cards for disks, which have fewer. */
const NITRO = /^[cmr]5|t3|z1d/;

const CLOUDS: readonly Cloud[] = [
  {
    name: 'EBSLimits',
    plugin: 'aws-ebs',
    resource: 'attachable-volumes-aws-ebs',
    most: (instanceType) => (NITRO.test(instanceType) ? 25 : 39),
    diskOf: ({ awsElasticBlockStore }) => awsElasticBlockStore?.volumeID,
  },
  {
    name: 'GCEPDLimits',
    plugin: 'gce-pd',
    resource: 'attachable-volumes-gce-pd',
    most: () => 16,
    diskOf: ({ gcePersistentDisk }) => gcePersistentDisk?.pdName,
  },
  {
    name: 'AzureDiskLimits',
    plugin: 'azure-disk',
    resource: 'attachable-volumes-azure-disk',
    most: () => 16,
    diskOf: ({ azureDisk }) => azureDisk?.diskName,
  },
  {
    name: 'CinderLimits',
    plugin: 'cinder',
    resource: 'attachable-volumes-cinder',
    most: () => 256,
    diskOf: ({ cinder }) => cinder?.volumeID,
  },
];

/** Returns the disk of a claim. An unbound claim of this cloud counts by its own name. */
function ofClaim({ plugin, diskOf }: Cloud, key: string, { volumes }: FleetView): string | undefined {
  const claim = volumes.claim(key);
  if (claim === undefined) return undefined;
  const { volumeName = '', storageClassName = '' } = claim.spec ?? {};
  const volume = volumeName === '' ? undefined : volumes.volume(volumeName);
  if (volume !== undefined) return diskOf(volume.spec ?? {});
  const provisioner = volumes.storageClass(storageClassName)?.provisioner;
  // No disk has a blank in its name.
  return provisioner === `${volumes.migration.domain}/${plugin}` ? `claim ${key}` : undefined;
}

function disksOfPod(cloud: Cloud, { shape }: PodInfo, fleet: FleetView): ReadonlySet<string> {
  const found = [
    ...shape.disks.map((disk) => cloud.diskOf(disk)),
    ...shape.claims.map((name) => ofClaim(cloud, `${shape.namespace}/${name}`, fleet)),
  ];
  return new Set(found.filter((disk) => disk !== undefined));
}

function disksOn(cloud: Cloud, { pods, claims }: NodeInfo, fleet: FleetView): ReadonlySet<string> {
  const found = new Set<string | undefined>();
  for (const { shape } of pods.values()) for (const disk of shape.disks) found.add(cloud.diskOf(disk));
  for (const key of claims.keys()) found.add(ofClaim(cloud, key, fleet));
  return new Set([...found].filter((disk) => disk !== undefined));
}

function limitOf({ resource, most }: Cloud, node: NodeInfo, fleet: FleetView): number {
  const allocatable = node.allocatable.scalars.get(resource);
  if (allocatable !== undefined) return Number(allocatable);
  const types = fleet.labelKeys.instanceTypes.map((label) => node.labels[label]);
  return most(types.find((type) => type !== undefined) ?? '');
}

const filterOf = (cloud: Cloud): Filter => ({
  name: cloud.name,
  wokenBy: ['podGone', 'nodeAdded', 'nodeAllocatable', 'volumes'],
  looksAround: false,
  prepare(pod, fleet) {
    const wanted = disksOfPod(cloud, pod, fleet);
    if (wanted.size === 0) return undefined;
    return check((node) => {
      // Volumes of migrated plugins count as the CSI driver's.
      if (fleet.volumes.migrates(node.name).has(`${fleet.volumes.migration.domain}/${cloud.plugin}`)) {
        return undefined;
      }
      const there = disksOn(cloud, node, fleet);
      return there.union(wanted).size > limitOf(cloud, node, fleet) ? REFUSAL : undefined;
    });
  },
});

/** One a cloud, as upstream names them. */
export const attachLimits: readonly Filter[] = CLOUDS.map(filterOf);
