/** A volume of each source with every field set that could contain a path, for tests of all sources. */
import type { SourceFields } from '../contract/source.ts';

type Specs = { readonly [K in keyof SourceFields]-?: NonNullable<SourceFields[K]> };

const items = [{ key: 'k', path: 'k' }];
const secretRef = { name: 's' };

/** @param dir an existing directory */
export const testSpecs = (dir: string): Omit<Specs, 'csi' | 'ephemeral' | 'persistentVolumeClaim'> => ({
  awsElasticBlockStore: { volumeID: 'vol-0123456789abcdef0', fsType: 'ext4' },
  azureDisk: {
    diskName: 'web',
    diskURI: 'https://disks.example.com/web.vhd',
    fsType: 'ext4',
    kind: 'Shared',
  },
  azureFile: { secretName: 's', shareName: 'share' },
  cephfs: { monitors: ['10.0.0.1'], path: '/web', user: 'web', secretFile: '/etc/ceph/web' },
  cinder: { volumeID: '11111111-2222-3333-4444-555555555555', fsType: 'ext4' },
  configMap: { name: 'c', items },
  downwardAPI: { items: [{ path: 'name', fieldRef: { fieldPath: 'metadata.name' } }] },
  emptyDir: { medium: 'Memory', sizeLimit: '1Mi' },
  fc: { targetWWNs: ['50060e801049cfd1'], lun: 0, fsType: 'ext4' },
  flexVolume: { driver: 'acme/files', fsType: 'ext4', options: { path: 'x' } },
  flocker: { datasetName: 'web' },
  gcePersistentDisk: { pdName: 'web', fsType: 'ext4' },
  gitRepo: { repository: 'https://git.example.com/web.git', directory: 'web', revision: 'main' },
  glusterfs: { endpoints: 'gluster', path: 'web', endpointsNamespace: 'default' },
  hostPath: { path: dir, type: 'Directory' },
  iscsi: {
    targetPortal: '10.0.0.1',
    iqn: 'iqn.2001-04.com.example:web',
    lun: 0,
    iscsiInterface: 'default',
    initiatorName: 'iqn.2001-04.com.example:node',
    fsType: 'ext4',
    portals: ['10.0.0.2'],
  },
  local: { path: dir, fsType: 'ext4' },
  nfs: { server: '10.0.0.1', path: '/web' },
  photonPersistentDisk: { pdID: 'web', fsType: 'ext4' },
  portworxVolume: { volumeID: 'web', fsType: 'ext4' },
  projected: {
    sources: [
      { configMap: { name: 'c', items } },
      { secret: { name: 's', items } },
      { downwardAPI: { items: [{ path: 'name', fieldRef: { fieldPath: 'metadata.name' } }] } },
      { serviceAccountToken: { path: 'token', audience: 'a' } },
    ],
  },
  quobyte: { registry: '10.0.0.1:7861', volume: 'web', user: 'web', group: 'web', tenant: 'web' },
  rbd: {
    monitors: ['10.0.0.1'],
    image: 'web',
    pool: 'rbd',
    user: 'admin',
    keyring: '/etc/ceph/keyring',
    fsType: 'ext4',
  },
  scaleIO: {
    gateway: 'https://127.0.0.1:1/api',
    system: 'web',
    secretRef,
    protectionDomain: 'pd',
    storagePool: 'sp',
    storageMode: 'ThinProvisioned',
    volumeName: 'web',
    fsType: 'xfs',
  },
  secret: { secretName: 's', items },
  storageos: { volumeName: 'web', volumeNamespace: 'default', fsType: 'ext4', secretRef },
  vsphereVolume: {
    volumePath: '[store] web.vmdk',
    fsType: 'ext4',
    storagePolicyName: 'p',
    storagePolicyID: 'i',
  },
});
