/** Descriptions of volumes and storage kinds. Data. Source: volumes, document 3 §2. */
import type { Texts } from './texts.ts';

const ACCESS_MODES = 'ReadWriteOnce, ReadOnlyMany, ReadWriteMany or ReadWriteOncePod';
const FILE_MODE =
  'Permission bits of the files, octal from 0000 to 0777 in YAML, decimal in JSON. Defaults to 0644.';
const ITEM_MODE =
  'Permission bits of the file, octal from 0000 to 0777 in YAML, decimal in JSON. If absent, the mode of the volume applies.';
const ITEMS =
  'Keys to project, with the paths of their files. If empty, every key becomes a file of the same name. A missing key is an error, unless optional is true.';
const FILE_PATH = 'Relative path of the file in the volume, without the element "..".';
const READ_ONLY = 'If true, containers mount the volume read-only. Defaults to false.';

export const STORAGE_TEXTS: Texts = {
  'core/v1.PersistentVolume': {
    is: 'Storage of the cluster with a lifecycle that is independent of pods.',
  },
  'core/v1.PersistentVolumeSpec': {
    is: 'Properties of a volume, and exactly one source.',
    members: {
      capacity: 'Size of the volume, by resource; storage is the relevant one.',
      accessModes: `Supported access modes: ${ACCESS_MODES}.`,
      claimRef: 'Claim that the volume is bound to or reserved for.',
      persistentVolumeReclaimPolicy:
        'Handling of the volume after its claim has been deleted. Retain: keep it for manual reclamation. Delete: delete it with its storage. Recycle: deprecated. Dynamically provisioned volumes get the policy of their class. Defaults to Retain.',
      storageClassName: 'Name of the storage class. Empty for volumes without a class.',
      mountOptions: 'Mount options. They are not validated; a mount fails if one is invalid.',
      volumeMode: 'Filesystem for a mounted file system, Block for a raw device. Defaults to Filesystem.',
      nodeAffinity: 'Constraints on the nodes that can access the volume. Cannot be changed once set.',
      hostPath: 'File or directory of the node. For development and tests on a single node.',
      nfs: 'Directory that an NFS server exports.',
      iscsi: 'Disk of an iSCSI target.',
      local: 'Disk or directory of one particular node. Requires nodeAffinity.',
      csi: 'Storage that an external CSI driver provides.',
    },
  },
  'core/v1.PersistentVolumeClaim': { is: 'Request for storage, which is bound to a matching volume.' },
  'core/v1.PersistentVolumeClaimSpec': {
    members: {
      accessModes: `Required access modes: ${ACCESS_MODES}.`,
      selector: 'Labels of the volumes to consider for binding. If absent, all volumes are considered.',
      resources: 'Minimum size of the volume. It can be increased later if the storage class allows it.',
      volumeName: 'Name of the bound volume.',
      storageClassName:
        'Name of the storage class. If absent, the default class applies. The empty string requests a volume without a class and disables dynamic provisioning.',
      volumeMode: 'Filesystem for a mounted file system, Block for a raw device. Defaults to Filesystem.',
      dataSource:
        'Volume snapshot or claim in the same namespace whose content the new volume starts with. Requires support by the provisioner.',
      dataSourceRef:
        'Object in the same namespace whose content the new volume starts with. In contrast to dataSource, any kind with a populator is possible, and other values are errors.',
    },
  },
  'core/v1.PersistentVolumeClaimStatus': {
    members: {
      phase:
        'Phase of the claim. Pending: not bound. Bound: bound to a volume. Lost: the bound volume no longer exists. Defaults to Pending.',
      accessModes: 'Access modes of the bound volume.',
      capacity: 'Actual size of the bound volume, by resource.',
    },
  },
  'core/v1.HostPathVolumeSource': {
    is: 'File or directory of the node. Grants access beyond the pod; avoid it where possible.',
    members: {
      path: 'Path on the node. A symbolic link is followed.',
      type: 'Check before the mount: Directory, File, Socket, CharDevice or BlockDevice must exist; DirectoryOrCreate and FileOrCreate create a missing one. Defaults to the empty string, which checks nothing.',
    },
  },
  'core/v1.EmptyDirVolumeSource': {
    is: 'Directory that is initially empty and is deleted with the pod.',
    members: {
      medium:
        'Storage medium: the empty string for the storage of the node, Memory for a tmpfs, HugePages for huge pages. Defaults to the empty string.',
      sizeLimit:
        'Maximum size. A pod that exceeds it is evicted. On the medium Memory, the memory limits of the containers also apply. If absent, the size is not limited.',
    },
  },
  'core/v1.NFSVolumeSource': {
    is: 'Directory that an NFS server exports. Its content outlives the pod.',
    members: {
      server: 'Host name or IP address of the server.',
      path: 'Exported path, absolute.',
      readOnly: READ_ONLY,
    },
  },
  'core/v1.ConfigMapVolumeSource': {
    is: 'Data of a ConfigMap as files. Changes are propagated, except to mounts of a subPath.',
    members: {
      name: 'Name of the ConfigMap, in the namespace of the pod.',
      items: ITEMS,
      defaultMode: FILE_MODE,
      optional:
        'If true, the ConfigMap and its keys may be missing. Otherwise, the pod waits until they exist.',
    },
  },
  'core/v1.SecretVolumeSource': {
    is: 'Data of a Secret as files in memory. Changes are propagated, except to mounts of a subPath.',
    members: {
      secretName: 'Name of the Secret, in the namespace of the pod.',
      items: ITEMS,
      defaultMode: FILE_MODE,
      optional: 'If true, the Secret and its keys may be missing. Otherwise, the pod waits until they exist.',
    },
  },
  'core/v1.KeyToPath': {
    is: 'File for one key of a ConfigMap or Secret.',
    members: { key: 'Key to project.', path: FILE_PATH, mode: ITEM_MODE },
  },
  'core/v1.ProjectedVolumeSource': {
    is: 'Several sources in one directory. Their paths must not conflict.',
    members: { sources: 'Sources to project.', defaultMode: FILE_MODE },
  },
  'core/v1.VolumeProjection': {
    is: 'One source of a projected volume. Exactly one member is set.',
    members: {
      secret: 'Data of a Secret.',
      downwardAPI: 'Fields and resources of the pod.',
      configMap: 'Data of a ConfigMap.',
      serviceAccountToken: 'Token of the service account of the pod.',
    },
  },
  'core/v1.ServiceAccountTokenProjection': {
    is: 'Token of the service account, bound to the pod. The node agent renews it before it expires.',
    members: {
      audience:
        'Intended recipient of the token. A recipient rejects tokens for others. Defaults to the API server.',
      expirationSeconds: 'Requested lifetime of the token in seconds, at least 600. Defaults to 3600.',
      path: FILE_PATH,
    },
  },
  'core/v1.DownwardAPIVolumeSource': {
    is: 'Fields and resources of the pod as files.',
    members: { items: 'Files to create.', defaultMode: FILE_MODE },
  },
  'core/v1.DownwardAPIVolumeFile': {
    is: 'File with one field or resource of the pod.',
    members: {
      path: FILE_PATH,
      fieldRef:
        'Field of the pod: its name, namespace, UID, labels or annotations. Cannot be combined with resourceFieldRef.',
      resourceFieldRef:
        'Limit or request of a container: CPU, memory, ephemeral storage or huge pages. Cannot be combined with fieldRef.',
      mode: ITEM_MODE,
    },
  },
  'core/v1.PersistentVolumeClaimVolumeSource': {
    is: 'Volume that is bound to a claim.',
    members: { claimName: 'Name of the claim, in the namespace of the pod.', readOnly: READ_ONLY },
  },
  'core/v1.CSIVolumeSource': {
    is: 'Ephemeral volume that is specified inline and that a CSI driver creates and deletes with the pod. The driver must support ephemeral volumes.',
    members: {
      driver: 'Name of the CSI driver.',
      readOnly: READ_ONLY,
      fsType: 'File system to mount, such as ext4 or xfs. If empty, the driver decides.',
      volumeAttributes: 'Parameters of the volume, specific to the driver.',
      nodePublishSecretRef:
        'Secret with sensitive data for the driver when it publishes the volume, in the namespace of the pod. If absent, no secret is passed.',
    },
  },
  'storage/v1.StorageClass': {
    is: 'Class of storage with the parameters for its dynamic provisioning. Provisioner, parameters, reclaim policy and binding mode cannot be changed.',
    members: {
      provisioner: 'Name of the component that creates the volumes.',
      parameters: 'Parameters of the provisioner, at most 512.',
      reclaimPolicy:
        'Reclaim policy of provisioned volumes: Delete, or Retain for manual reclamation. Defaults to Delete.',
      mountOptions: 'Mount options of provisioned volumes. They are not validated.',
      allowVolumeExpansion: 'Whether claims of this class can be expanded. If absent, they cannot.',
      volumeBindingMode:
        'Immediate binds and provisions upon creation of a claim. WaitForFirstConsumer waits until a pod with the claim is scheduled. Defaults to Immediate.',
      allowedTopologies: 'Topologies in which volumes may be provisioned. If empty, there is no restriction.',
    },
  },
  'storage/v1.CSIDriver': {
    is: 'Capabilities and requirements of a CSI driver. Its name is the name of the driver.',
  },
  'storage/v1.CSINode': {
    is: 'CSI drivers that are registered on a node. Its name is the name of the node.',
  },
  'storage/v1.VolumeAttachment': {
    is: 'Request to attach a volume to a node, and the state of the attachment.',
  },
};
