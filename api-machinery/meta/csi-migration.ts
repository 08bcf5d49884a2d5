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

interface Plugin {
  readonly plugin: string;
  readonly driver: string;
  /** Leaves it to the driver; absent: that is so for good. */
  readonly gate?: string;
}

const AWS: Plugin = { plugin: 'aws-ebs', driver: 'ebs.csi.aws.com', gate: 'CSIMigrationAWS' };
const AZURE: Plugin = { plugin: 'azure-disk', driver: 'disk.csi.azure.com' };
const CINDER: Plugin = { plugin: 'cinder', driver: 'cinder.csi.openstack.org' };
const GCE: Plugin = { plugin: 'gce-pd', driver: 'pd.csi.storage.gke.io', gate: 'CSIMigrationGCE' };
const VSPHERE: Plugin = {
  plugin: 'vsphere-volume',
  driver: 'csi.vsphere.vmware.com',
  gate: 'CSIMigrationvSphere',
};
const PLUGINS: readonly Plugin[] = [AWS, AZURE, CINDER, GCE, VSPHERE];

interface Found extends Plugin, Pick<MigratedSource, 'volumeAttributes'> {
  readonly volumeHandle: string | undefined;
  readonly source: { readonly fsType?: string; readonly readOnly?: boolean };
}

const partitionOf = (partition: number | undefined): { volumeAttributes?: { partition: string } } =>
  partition === undefined || partition === 0 ? {} : { volumeAttributes: { partition: String(partition) } };

function find(source: MigratableSource, options: MigrationOptions): Found | undefined {
  const { awsElasticBlockStore: aws, gcePersistentDisk: gce, azureDisk: azure, cinder } = source;
  const { vsphereVolume: vsphere } = source;
  if (aws !== undefined) {
    return { ...AWS, volumeHandle: awsVolume(aws.volumeID), source: aws, ...partitionOf(aws.partition) };
  }
  if (gce !== undefined) {
    return {
      ...GCE,
      volumeHandle: gceHandle(gce.pdName, options),
      source: gce,
      ...partitionOf(gce.partition),
    };
  }
  if (azure !== undefined) return { ...AZURE, volumeHandle: azure.diskURI, source: azure };
  if (cinder !== undefined) return { ...CINDER, volumeHandle: cinder.volumeID, source: cinder };
  return vsphere && { ...VSPHERE, volumeHandle: vsphere.volumePath, source: vsphere };
}

/** The older sources among a pod's own volumes that have a CSI driver. */
export const isMigratable = (source: MigratableSource): boolean =>
  source.awsElasticBlockStore !== undefined ||
  source.azureDisk !== undefined ||
  source.cinder !== undefined ||
  source.gcePersistentDisk !== undefined ||
  source.vsphereVolume !== undefined;

/** The driver that makes the volumes of a class of this provisioner; `undefined`: the provisioner is no older plugin, or
 *  the gates do not leave it to a driver.
 *  @param plugin with its domain, as nodes name those that they have left to drivers */
export function driverOfPlugin(plugin: string, options: MigrationOptions): string | undefined {
  if (!migratedPlugins(options).includes(plugin)) return undefined;
  return PLUGINS.find((each) => plugin === `${options.domain}/${each.plugin}`)?.driver;
}

/** The plugins that a node has left to CSI drivers, as its CSINode tells them. */
export function migratedPlugins({
  domain,
  gates,
}: Pick<MigrationOptions, 'domain' | 'gates'>): readonly string[] {
  if (!gates.has('CSIMigration')) return [];
  return PLUGINS.filter(({ gate }) => gate === undefined || gates.has(gate)).map(
    ({ plugin }) => `${domain}/${plugin}`,
  );
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
