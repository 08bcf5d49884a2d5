/** Sources of older kinds as the CSI volumes that they are to nodes with the CSI drivers of their clouds. Pure.
 *  Source: document 3, 4.4 (CSIMigration…); upstream's csi-translation-lib, release 1.24. */
import type { PersistentVolumeSpec, Volume } from '../schema/gen/core-v1.ts';

/** The sources that have a CSI driver. */
export type MigratableSource = Pick<
  Volume & PersistentVolumeSpec,
  'awsElasticBlockStore' | 'azureDisk' | 'gcePersistentDisk'
> & {
  readonly cinder?: { readonly volumeID: string; readonly fsType?: string; readonly readOnly?: boolean };
  readonly vsphereVolume?: { readonly volumePath: string; readonly fsType?: string };
};

export interface MigrationOptions {
  /** Of the vocabulary. */
  readonly domain: string;
  /** Gates that are on. */
  readonly gates: ReadonlySet<string>;
  /** Labels of the persistent volume, if it is one: they tell the zone of a disk. */
  readonly labels?: Readonly<Record<string, string>>;
}

/** What the volume is to the CSI driver. */
export interface MigratedSource {
  /** The older plugin, as nodes name those that they have left to CSI drivers. */
  readonly plugin: string;
  readonly driver: string;
  readonly volumeHandle: string;
  readonly fsType?: string;
  readonly readOnly?: boolean;
  readonly volumeAttributes?: Readonly<Record<string, string>>;
}

/** Annotation of a CSINode: the plugins that the node has left to CSI drivers, with commas between them. */
export const migratedPluginsAnnotation = (domain: string): string =>
  `storage.alpha.${domain}/migrated-plugins`;

/** `vol-1` of `vol-1` and of `aws://zone/vol-1`; `undefined` for what is neither. */
function awsVolume(id: string): string | undefined {
  if (!id.startsWith('aws://')) return id;
  return /^aws:\/\/[^/]*\/+(vol-[^/]*)$/.exec(id)?.[1];
}

const UNSPECIFIED = 'UNSPECIFIED';
/** Between the zones of a disk that is in several. */
const ZONE_DELIMITER = '__';

function gceHandle(disk: string, { domain, labels = {} }: MigrationOptions): string {
  const zones = (labels[`topology.${domain}/zone`] ?? labels[`failure-domain.beta.${domain}/zone`] ?? '')
    .split(ZONE_DELIMITER)
    .filter((zone) => zone !== '');
  const [first = UNSPECIFIED] = zones;
  const place = zones.length > 1 ? `regions/${first.replace(/-[^-]*$/, '')}` : `zones/${first}`;
  return `projects/${UNSPECIFIED}/${place}/disks/${disk}`;
}

interface Found extends Omit<MigratedSource, 'plugin' | 'fsType' | 'readOnly' | 'volumeHandle'> {
  readonly plugin: string;
  /** Absent: it is on for good. */
  readonly gate?: string;
  readonly volumeHandle: string | undefined;
  readonly source: { readonly fsType?: string; readonly readOnly?: boolean };
}

const partitionOf = (partition: number | undefined): { volumeAttributes?: { partition: string } } =>
  partition === undefined || partition === 0 ? {} : { volumeAttributes: { partition: String(partition) } };

function find(source: MigratableSource, options: MigrationOptions): Found | undefined {
  const { awsElasticBlockStore: aws, gcePersistentDisk: gce, azureDisk: azure, cinder } = source;
  const { vsphereVolume: vsphere } = source;
  if (aws !== undefined) {
    const volumeHandle = awsVolume(aws.volumeID);
    const gate = 'CSIMigrationAWS';
    return {
      plugin: 'aws-ebs',
      gate,
      driver: 'ebs.csi.aws.com',
      volumeHandle,
      source: aws,
      ...partitionOf(aws.partition),
    };
  }
  if (gce !== undefined) {
    const volumeHandle = gceHandle(gce.pdName, options);
    const driver = 'pd.csi.storage.gke.io';
    return {
      plugin: 'gce-pd',
      gate: 'CSIMigrationGCE',
      driver,
      volumeHandle,
      source: gce,
      ...partitionOf(gce.partition),
    };
  }
  if (azure !== undefined) {
    return { plugin: 'azure-disk', driver: 'disk.csi.azure.com', volumeHandle: azure.diskURI, source: azure };
  }
  if (cinder !== undefined) {
    return {
      plugin: 'cinder',
      driver: 'cinder.csi.openstack.org',
      volumeHandle: cinder.volumeID,
      source: cinder,
    };
  }
  if (vsphere === undefined) return undefined;
  const gate = 'CSIMigrationvSphere';
  const volumeHandle = vsphere.volumePath;
  return { plugin: 'vsphere-volume', gate, driver: 'csi.vsphere.vmware.com', volumeHandle, source: vsphere };
}

/** Older plugins by the gate that leaves them to CSI drivers; empty: that is so for good. */
const PLUGIN_GATES: ReadonlyMap<string, string> = new Map([
  ['aws-ebs', 'CSIMigrationAWS'],
  ['azure-disk', ''],
  ['cinder', ''],
  ['gce-pd', 'CSIMigrationGCE'],
  ['vsphere-volume', 'CSIMigrationvSphere'],
]);

/** The plugins that a node has left to CSI drivers, as its CSINode tells them. */
export function migratedPlugins({
  domain,
  gates,
}: Pick<MigrationOptions, 'domain' | 'gates'>): readonly string[] {
  if (!gates.has('CSIMigration')) return [];
  return [...PLUGIN_GATES]
    .filter(([, gate]) => gate === '' || gates.has(gate))
    .map(([plugin]) => `${domain}/${plugin}`);
}

/** `undefined`: the source has no CSI driver, the gates say that it is not to be used, or nothing names the volume. */
export function migrateSource(
  source: MigratableSource,
  options: MigrationOptions,
): MigratedSource | undefined {
  const { gates, domain } = options;
  if (!gates.has('CSIMigration')) return undefined;
  const found = find(source, options);
  if (found === undefined || (found.gate !== undefined && !gates.has(found.gate))) return undefined;
  const { volumeHandle = '', driver, plugin, volumeAttributes } = found;
  if (volumeHandle === '') return undefined;
  const { fsType, readOnly } = found.source;
  return {
    plugin: `${domain}/${plugin}`,
    driver,
    volumeHandle,
    ...(fsType === undefined ? {} : { fsType }),
    ...(readOnly === undefined ? {} : { readOnly }),
    ...(volumeAttributes === undefined ? {} : { volumeAttributes }),
  };
}
