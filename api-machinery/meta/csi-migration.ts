/** Translation of in-tree volume sources to CSI volumes, for nodes with the CSI drivers of their clouds.
 *  Pure.
 *  Source: CSI migration gates, document 3 §4.4; upstream's csi-translation-lib, release 1.24. */
import type { PersistentVolumeSpec, Volume } from '../gen/core-v1.ts';

/** The sources that have a CSI driver. */
export type MigratableSource = Pick<
  Volume & PersistentVolumeSpec,
  'awsElasticBlockStore' | 'azureDisk' | 'gcePersistentDisk'
> & {
  readonly cinder?: { readonly volumeID: string; readonly fsType?: string; readonly readOnly?: boolean };
  readonly vsphereVolume?: { readonly volumePath: string; readonly fsType?: string };
};

export interface MigrationOptions {
  /** Domain of the vocabulary. */
  readonly domain: string;
  /** Enabled gates. */
  readonly gates: ReadonlySet<string>;
  /** Labels of the persistent volume, if it is one: they contain the zone of a disk. */
  readonly labels?: Readonly<Record<string, string>>;
}

/** The equivalent CSI volume. */
export interface MigratedSource {
  /** Name of the in-tree plugin in the CSINode annotation. */
  readonly plugin: string;
  readonly driver: string;
  readonly volumeHandle: string;
  readonly fsType?: string;
  readonly readOnly?: boolean;
  readonly volumeAttributes?: Readonly<Record<string, string>>;
}

/** Returns the annotation of a CSINode that lists the in-tree plugins handled by CSI drivers, separated by
 *  commas. */
export const migratedPluginsAnnotation = (domain: string): string =>
  `storage.alpha.${domain}/migrated-plugins`;

/** Returns `vol-1` for `vol-1` and `aws://zone/vol-1`; otherwise `undefined`. */
function awsVolume(id: string): string | undefined {
  if (!id.startsWith('aws://')) return id;
  return /^aws:\/\/[^/]*\/+(vol-[^/]*)$/.exec(id)?.[1];
}

const UNSPECIFIED = 'UNSPECIFIED';
/** Separates the zones of a disk that is in several. */
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
  /** Gate of the migration; absent: it is always enabled. */
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

const BY_SOURCE: Readonly<Record<keyof MigratableSource, Plugin>> = {
  awsElasticBlockStore: AWS,
  azureDisk: AZURE,
  cinder: CINDER,
  gcePersistentDisk: GCE,
  vsphereVolume: VSPHERE,
};

/** Returns the CSI driver of a source, by the source's field, and the feature gate of its migration; without a gate, it
 *  is always migrated. */
export const migrationOf = (source: string): Pick<Plugin, 'driver' | 'gate'> | undefined =>
  Object.entries(BY_SOURCE).find(([name]) => name === source)?.[1];

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

/** Reports whether a pod's inline volume has an in-tree source with a CSI driver. */
export const isMigratable = (source: MigratableSource): boolean =>
  source.awsElasticBlockStore !== undefined ||
  source.azureDisk !== undefined ||
  source.cinder !== undefined ||
  source.gcePersistentDisk !== undefined ||
  source.vsphereVolume !== undefined;

/** Returns the driver that provisions volumes for a class with this provisioner; `undefined` if the
 *  provisioner is not an in-tree plugin, or its migration is disabled.
 *  @param plugin name with its domain, as in the CSINode annotation */
export function driverOfPlugin(plugin: string, options: MigrationOptions): string | undefined {
  if (!migratedPlugins(options).includes(plugin)) return undefined;
  return PLUGINS.find((each) => plugin === `${options.domain}/${each.plugin}`)?.driver;
}

/** Returns the plugins that a node has migrated, from its CSINode. */
export function migratedPlugins({
  domain,
  gates,
}: Pick<MigrationOptions, 'domain' | 'gates'>): readonly string[] {
  if (!gates.has('CSIMigration')) return [];
  return PLUGINS.filter(({ gate }) => gate === undefined || gates.has(gate)).map(
    ({ plugin }) => `${domain}/${plugin}`,
  );
}

/** Returns `undefined` if the source has no CSI driver, the migration is disabled, or the volume has no
 *  name. */
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
