/** Facts: cluster roles of upstream's controllers, release 1.24 (bootstrap policy), in the neutral vocabulary. */
import type { PolicyRule } from '#api/gen/rbac-authorization-v1.ts';
import { VOCABULARIES } from '#api/vocabulary.ts';
import { grantsOn, withDomain } from './grants.ts';

const core = grantsOn('');
const apps = grantsOn('apps');
const workloads = grantsOn('apps', 'extensions');
const autoscaling = grantsOn('autoscaling');
const batch = grantsOn('batch');
const certificates = grantsOn(withDomain('certificates'));
const discovery = grantsOn(withDomain('discovery'));
const every = grantsOn('*');
const policy = grantsOn('policy');
const storage = grantsOn(withDomain('storage'));
const events = grantsOn('', withDomain('events'))('create update patch', 'events');

const { domain, apiServerClientSigner, nodeClientSigner, nodeServingSigner } = VOCABULARIES.plat;
const signer = (name: string): string => `${domain}/${name}`;

export const UPSTREAM_ROLES: Readonly<Record<string, readonly PolicyRule[]>> = {
  'attachdetach-controller': [
    core('list watch', 'persistentvolumes', 'persistentvolumeclaims', 'pods'),
    core('get list watch', 'nodes'),
    core('patch update', 'nodes/status'),
    storage('get create delete list watch', 'volumeattachments'),
    storage('get list watch', 'csidrivers', 'csinodes'),
    events,
  ],
  'certificate-controller': [
    certificates('get list watch delete', 'certificatesigningrequests'),
    certificates('update', 'certificatesigningrequests/status', 'certificatesigningrequests/approval'),
    { ...certificates('approve', 'signers'), resourceNames: [signer(nodeClientSigner)] },
    {
      ...certificates('sign', 'signers'),
      resourceNames: ['legacy-unknown', apiServerClientSigner, nodeClientSigner, nodeServingSigner].map(
        signer,
      ),
    },
    grantsOn(withDomain('authorization'))('create', 'subjectaccessreviews'),
    events,
  ],
  'clusterrole-aggregation-controller': [
    grantsOn(withDomain('rbac.authorization'))('escalate get list watch update patch', 'clusterroles'),
  ],
  'cronjob-controller': [
    batch('get list watch update', 'cronjobs'),
    batch('get list watch create update delete patch', 'jobs'),
    batch('update', 'cronjobs/status', 'cronjobs/finalizers'),
    core('list delete', 'pods'),
    events,
  ],
  'daemon-set-controller': [
    workloads('get list watch', 'daemonsets'),
    workloads('update', 'daemonsets/status', 'daemonsets/finalizers'),
    core('list watch', 'nodes'),
    core('list watch create delete patch', 'pods'),
    core('create', 'pods/binding'),
    apps('get list watch create delete update patch', 'controllerrevisions'),
    events,
  ],
  'deployment-controller': [
    workloads('get list watch update', 'deployments'),
    workloads('update', 'deployments/status', 'deployments/finalizers'),
    workloads('get list watch create update patch delete', 'replicasets'),
    core('get list watch update', 'pods'),
    events,
  ],
  'disruption-controller': [
    workloads('get list watch', 'deployments', 'replicasets'),
    core('get list watch', 'replicationcontrollers'),
    policy('get list watch', 'poddisruptionbudgets'),
    apps('get list watch', 'statefulsets'),
    policy('update', 'poddisruptionbudgets/status'),
    every('get', '*/scale'),
    events,
  ],
  'endpoint-controller': [
    core('get list watch', 'services', 'pods'),
    core('get list create update delete', 'endpoints'),
    core('create', 'endpoints/restricted'),
    events,
  ],
  'endpointslice-controller': [
    core('get list watch', 'services', 'pods', 'nodes'),
    core('update', 'services/finalizers'),
    discovery('get list create update delete', 'endpointslices'),
    events,
  ],
  'endpointslicemirroring-controller': [
    core('get list watch', 'services', 'endpoints'),
    core('update', 'services/finalizers', 'endpoints/finalizers'),
    discovery('get list create update delete', 'endpointslices'),
    events,
  ],
  'ephemeral-volume-controller': [
    core('get list watch', 'pods'),
    core('update', 'pods/finalizers'),
    core('get list watch create', 'persistentvolumeclaims'),
    events,
  ],
  'expand-controller': [
    core('get list watch update patch', 'persistentvolumes'),
    core('update patch', 'persistentvolumeclaims/status'),
    core('get list watch', 'persistentvolumeclaims'),
    storage('get list watch', 'storageclasses'),
    core('get', 'services', 'endpoints', 'secrets'),
    events,
  ],
  'generic-garbage-collector': [every('get list watch patch update delete', '*'), events],
  'horizontal-pod-autoscaler': [
    autoscaling('get list watch', 'horizontalpodautoscalers'),
    autoscaling('update', 'horizontalpodautoscalers/status'),
    every('get update', '*/scale'),
    core('list', 'pods'),
    { ...core('get', 'services/proxy'), resourceNames: ['https:heapster:', 'http:heapster:'] },
    grantsOn(withDomain('metrics'))('list', 'pods'),
    grantsOn(withDomain('custom.metrics'), withDomain('external.metrics'))('get list', '*'),
    events,
  ],
  'job-controller': [
    batch('get list watch update patch', 'jobs'),
    batch('update', 'jobs/status', 'jobs/finalizers'),
    core('list watch create delete patch', 'pods'),
    events,
  ],
  'namespace-controller': [
    core('get list watch delete', 'namespaces'),
    core('update', 'namespaces/finalize', 'namespaces/status'),
    every('get list delete deletecollection', '*'),
  ],
  'node-controller': [
    core('get list update delete patch', 'nodes'),
    core('patch update', 'nodes/status'),
    core('update', 'pods/status'),
    core('list delete', 'pods'),
    events,
  ],
  'persistent-volume-binder': [
    core('get list watch update create delete', 'persistentvolumes'),
    core('update', 'persistentvolumes/status', 'persistentvolumeclaims/status'),
    core('get list watch update', 'persistentvolumeclaims'),
    core('list watch get create delete', 'pods'),
    storage('get list watch', 'storageclasses'),
    core('get create update delete', 'endpoints'),
    core('get create delete', 'services'),
    core('get', 'secrets'),
    core('get list', 'nodes'),
    core('watch', 'events'),
    events,
  ],
  'pod-garbage-collector': [core('list watch delete', 'pods'), core('get list', 'nodes')],
  'pv-protection-controller': [core('get list watch update', 'persistentvolumes'), events],
  'pvc-protection-controller': [
    core('get list watch update', 'persistentvolumeclaims'),
    core('list watch get', 'pods'),
    events,
  ],
  'replicaset-controller': [
    workloads('get list watch update', 'replicasets'),
    workloads('update', 'replicasets/status', 'replicasets/finalizers'),
    core('list watch patch create delete', 'pods'),
    events,
  ],
  'replication-controller': [
    core('get list watch update', 'replicationcontrollers'),
    core('update', 'replicationcontrollers/status', 'replicationcontrollers/finalizers'),
    core('list watch patch create delete', 'pods'),
    events,
  ],
  'resourcequota-controller': [every('list watch', '*'), core('update', 'resourcequotas/status'), events],
  'root-ca-cert-publisher': [core('create update', 'configmaps'), events],
  'route-controller': [core('list watch', 'nodes'), core('patch', 'nodes/status'), events],
  'service-account-controller': [core('create', 'serviceaccounts'), events],
  'service-controller': [
    core('get list watch', 'services'),
    core('patch update', 'services/status'),
    core('list watch', 'nodes'),
    events,
  ],
  'statefulset-controller': [
    core('list watch get create delete update patch', 'pods'),
    apps('get list watch', 'statefulsets'),
    apps('update', 'statefulsets/status', 'statefulsets/finalizers'),
    apps('get create delete update patch list watch', 'controllerrevisions'),
    core('get create', 'persistentvolumeclaims'),
    events,
  ],
  'ttl-after-finished-controller': [batch('get list watch delete', 'jobs'), events],
  'ttl-controller': [core('update patch list watch', 'nodes'), events],
};
