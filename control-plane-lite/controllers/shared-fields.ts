/** Fields with more than one writing controller, and why their writes do not conflict. Upstream's controllers
 *  share the same fields. Every other field has one writer. */
interface SharedField {
  readonly writers: readonly string[];
  readonly reason: string;
}

const EVENT_RECORDERS = [
  'attachdetach',
  'cronjob',
  'daemonset',
  'deployment',
  'disruption',
  'ephemeral-volume',
  'horizontalpodautoscaling',
  'job',
  'local-provisioner',
  'nodeipam',
  'nodelifecycle',
  'persistentvolume-binder',
  'persistentvolume-expander',
  'replicaset',
  'replicationcontroller',
  'statefulset',
];
const OWN_EVENTS = 'each controller counts only the Events that it created';
const OWN_REFERENCE =
  'each owner adopts and releases with its own uid; the garbage collector removes only absent owners';
const OWN_FINALIZER =
  'each controller removes its own finalizer; the garbage collector removes only those of deletion policies';
const OWN_REVISIONS = 'each controller numbers only the revisions that its own objects control';
const OWN_SLICES = 'a label names the managing controller of each slice';
const OWN_ANNOTATIONS = 'the annotation keys differ';

/** By kind and field path. */
export const SHARED_FIELDS: Readonly<Record<string, SharedField>> = {
  'certificatesigningrequests.certificates status.conditions': {
    writers: ['csrapproving', 'csrsigning'],
    reason: 'the approver adds Approved through one subresource, the signer Failed through another',
  },
  'configmaps data': {
    writers: ['bootstrapsigner', 'root-ca-cert-publisher'],
    reason: 'the names of the ConfigMaps differ',
  },
  'controllerrevisions.apps metadata.ownerReferences': {
    writers: ['daemonset', 'garbagecollector', 'statefulset'],
    reason: OWN_REFERENCE,
  },
  'controllerrevisions.apps revision': { writers: ['daemonset', 'statefulset'], reason: OWN_REVISIONS },
  'endpointslices.discovery endpoints': {
    writers: ['endpointslice', 'endpointslicemirroring'],
    reason: OWN_SLICES,
  },
  'endpointslices.discovery metadata.labels': {
    writers: ['endpointslice', 'endpointslicemirroring'],
    reason: OWN_SLICES,
  },
  'events count': { writers: EVENT_RECORDERS, reason: OWN_EVENTS },
  'events lastTimestamp': { writers: EVENT_RECORDERS, reason: OWN_EVENTS },
  'persistentvolumeclaims metadata.annotations': {
    writers: ['local-provisioner', 'persistentvolume-binder', 'persistentvolume-expander'],
    reason: OWN_ANNOTATIONS,
  },
  'persistentvolumeclaims metadata.finalizers': {
    writers: ['garbagecollector', 'pvc-protection'],
    reason: OWN_FINALIZER,
  },
  'persistentvolumeclaims metadata.ownerReferences': {
    writers: ['garbagecollector', 'statefulset'],
    reason: OWN_REFERENCE,
  },
  'persistentvolumes metadata.annotations': {
    writers: ['persistentvolume-binder', 'persistentvolume-expander'],
    reason: OWN_ANNOTATIONS,
  },
  'persistentvolumes metadata.finalizers': {
    writers: ['garbagecollector', 'pv-protection'],
    reason: OWN_FINALIZER,
  },
  'pods metadata.finalizers': { writers: ['garbagecollector', 'job'], reason: OWN_FINALIZER },
  'pods metadata.ownerReferences': {
    writers: ['daemonset', 'garbagecollector', 'job', 'replicaset', 'replicationcontroller', 'statefulset'],
    reason: OWN_REFERENCE,
  },
  'replicasets.apps metadata.ownerReferences': {
    writers: ['deployment', 'garbagecollector'],
    reason: OWN_REFERENCE,
  },
  'replicasets.apps spec.replicas': {
    writers: ['deployment', 'horizontalpodautoscaling'],
    reason: 'an autoscaler targets the Deployment, or a ReplicaSet without one',
  },
};
