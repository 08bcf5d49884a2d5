/** Every volume source that this agent serves. */
import type { Volume } from '#api/schema/gen/core-v1.ts';
import { VolumeSetupError } from '../setup-error.ts';
import { awsElasticBlockStore } from './aws-elastic-block-store.ts';
import { azureDisk } from './azure-disk.ts';
import { azureFile } from './azure-file.ts';
import { cephfs } from './cephfs.ts';
import { cinder } from './cinder.ts';
import { configMap } from './config-map.ts';
import { csi, migratable } from './csi.ts';
import { downwardAPI } from './downward-api.ts';
import { emptyDir } from './empty-dir.ts';
import { createEphemeral } from './ephemeral.ts';
import { fc } from './fc.ts';
import { flexVolume } from './flex-volume.ts';
import { flocker } from './flocker.ts';
import { gcePersistentDisk } from './gce-persistent-disk.ts';
import { gitRepo } from './git-repo.ts';
import { glusterfs } from './glusterfs.ts';
import { hostPath } from './host-path.ts';
import { iscsi } from './iscsi.ts';
import { local } from './local.ts';
import { nfs } from './nfs.ts';
import { createPersistentVolumeClaim } from './persistent-volume-claim.ts';
import { photonPersistentDisk } from './photon-persistent-disk.ts';
import { portworxVolume } from './portworx-volume.ts';
import { projected } from './projected.ts';
import { quobyte } from './quobyte.ts';
import { rbd } from './rbd.ts';
import { scaleIO } from './scale-io.ts';
import { secret } from './secret.ts';
import { bindFrom, type SetUp, type SourcePlugin } from './source.ts';
import { storageos } from './storageos.ts';
import { vsphereVolume } from './vsphere-volume.ts';

/** Sources that a PersistentVolume may have. */
export const PERSISTENT_SOURCES: readonly SourcePlugin[] = [
  migratable(awsElasticBlockStore),
  migratable(azureDisk),
  azureFile,
  cephfs,
  migratable(cinder),
  csi,
  fc,
  flexVolume,
  flocker,
  migratable(gcePersistentDisk),
  glusterfs,
  hostPath,
  iscsi,
  local,
  nfs,
  photonPersistentDisk,
  portworxVolume,
  quobyte,
  rbd,
  scaleIO,
  storageos,
  migratable(vsphereVolume),
];

/** Sources that a pod's volume may have. */
export const POD_SOURCES: readonly SourcePlugin[] = [
  migratable(awsElasticBlockStore),
  migratable(azureDisk),
  azureFile,
  cephfs,
  migratable(cinder),
  configMap,
  csi,
  downwardAPI,
  emptyDir,
  createEphemeral(PERSISTENT_SOURCES),
  fc,
  flexVolume,
  flocker,
  migratable(gcePersistentDisk),
  gitRepo,
  glusterfs,
  hostPath,
  iscsi,
  nfs,
  createPersistentVolumeClaim(PERSISTENT_SOURCES),
  photonPersistentDisk,
  portworxVolume,
  projected,
  quobyte,
  rbd,
  scaleIO,
  secret,
  storageos,
  migratable(vsphereVolume),
];

/** What the manager needs of all sources. */
export interface SourceTable {
  /** The work that makes this volume ready.
   *  @throws VolumeSetupError naming a source that isn't served, and for a volume without any or with two */
  bind(volume: Volume): SetUp;
  /** By the field that selects it, for what was left on disk. */
  plugin(name: string): SourcePlugin | undefined;
}

/** @param persistent those that are reached through claims only or as well */
export function createSourceTable(
  pod: readonly SourcePlugin[],
  persistent: readonly SourcePlugin[],
): SourceTable {
  return {
    bind(volume) {
      const { name: _, ...sources } = volume;
      const set = Object.entries(sources)
        .filter(([, spec]) => spec !== undefined && spec !== null)
        .map(([source]) => source);
      const [source] = set;
      if (source === undefined) throw new VolumeSetupError('no volume source is set');
      if (set.length > 1) {
        throw new VolumeSetupError(`more than one volume source is set: ${set.join(', ')}`);
      }
      const setUp = bindFrom(pod, sources);
      if (setUp !== undefined) return setUp;
      throw new VolumeSetupError(`this agent can't mount volumes of source ${source}`);
    },
    plugin: (name) => [...pod, ...persistent].find((plugin) => plugin.name === name),
  };
}

/** Those that this agent serves. */
export const SOURCES: SourceTable = createSourceTable(POD_SOURCES, PERSISTENT_SOURCES);
