/** One object of every kind that can be created, as small as the kind allows. For tests that go through all kinds. */
import type { Vocabulary } from '#api/vocabulary.ts';
import { builtinFacts } from '#plane/resources/facts.ts';
import { eventually } from '../../testing/wait.ts';
import { type Body, type Client, type Json, workload } from './support.ts';

export interface Sample {
  /** `apps/v1 deployments`, in the vocabulary. */
  readonly id: string;
  readonly plural: string;
  readonly kind: string;
  readonly apiVersion: string;
  /** Of the collection. */
  readonly path: string;
  readonly typeRef: string;
  readonly object: Json & { readonly metadata: { readonly name: string } };
}

const TEMPLATE: Json = {
  metadata: { labels: { app: 'sample' } },
  spec: { containers: [{ name: 'main', image: 'busybox' }] },
};
const JOB_SPEC: Json = {
  template: { spec: { containers: [{ name: 'main', image: 'busybox' }], restartPolicy: 'Never' } },
};
const NAME = 'sample';

const specOf = (kind: string, spec: Json = {}): Json => ({ spec: workload(kind, NAME, spec)['spec'] });

function events(): Json {
  return {
    reason: 'Started',
    type: 'Normal',
    eventTime: '2026-01-01T00:00:00.000000Z',
    action: 'Start',
    reportingController: 'example.com/c',
    reportingInstance: 'c-1',
    regarding: { kind: 'Namespace', name: 'default' },
  };
}

function webhooks(): Json {
  const clientConfig = { url: 'https://hooks.example.com/check' };
  const rules = [{ operations: ['CREATE'], apiGroups: [''], apiVersions: ['v1'], resources: ['pods'] }];
  const name = 'nothing.example.com';
  // Selects nothing, so that no other test meets it.
  const namespaceSelector = { matchLabels: { 'example.com/never': 'x' } };
  return {
    webhooks: [
      { name, clientConfig, rules, namespaceSelector, sideEffects: 'None', admissionReviewVersions: ['v1'] },
    ],
  };
}

const SCHEMA: Json = { openAPIV3Schema: { type: 'object' } };

/** Required fields of the kinds of the core group, beside a name. */
const CORE: Readonly<Record<string, Json>> = {
  pods: {
    spec: { containers: [{ name: 'main', image: 'busybox', resources: { requests: { cpu: '10m' } } }] },
  },
  services: { spec: { selector: { app: NAME }, ports: [{ port: 80 }] } },
  configmaps: { data: { key: 'value' }, binaryData: { blob: 'AAEC' } },
  secrets: { data: { key: 'dmFsdWU=' } },
  endpoints: { subsets: [{ addresses: [{ ip: '10.1.2.3' }], ports: [{ port: 80 }] }] },
  events: { involvedObject: { kind: 'Namespace', name: 'default' }, reason: 'Started', type: 'Normal' },
  limitranges: { spec: { limits: [{ type: 'Container', max: { cpu: '2' } }] } },
  persistentvolumeclaims: {
    spec: { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '1Gi' } } },
  },
  podtemplates: { template: TEMPLATE },
  replicationcontrollers: { spec: { template: TEMPLATE } },
  resourcequotas: { spec: { hard: { pods: '100' } } },
  persistentvolumes: {
    spec: { accessModes: ['ReadWriteOnce'], capacity: { storage: '1Gi' }, hostPath: { path: '/data' } },
  },
};

/** Required fields of the kinds of other groups; the group without its domain, the version only where it matters. */
function others({ apiGroupDomain: domain }: Vocabulary): Readonly<Record<string, Json>> {
  const roleRef = { apiGroup: `rbac.authorization.${domain}`, kind: 'ClusterRole', name: 'view' };
  const backend = { service: { name: 's', port: { number: 80 } } };
  const ingress = { host: 'a.example.com', http: { paths: [{ path: '/', pathType: 'Prefix', backend }] } };
  return {
    'admissionregistration mutatingwebhookconfigurations': webhooks(),
    'admissionregistration validatingwebhookconfigurations': webhooks(),
    'apiextensions customresourcedefinitions': {
      metadata: { name: 'samples.example.com' },
      spec: {
        group: 'example.com',
        names: { plural: 'samples', kind: 'Sample' },
        scope: 'Namespaced',
        versions: [{ name: 'v1', served: true, storage: true, schema: SCHEMA }],
      },
    },
    'apiregistration apiservices': {
      metadata: { name: 'v1.remote.example.com' },
      spec: {
        group: 'remote.example.com',
        version: 'v1',
        groupPriorityMinimum: 100,
        versionPriority: 10,
        insecureSkipTLSVerify: true,
        service: { namespace: 'default', name: 'remote' },
      },
    },
    'apps controllerrevisions': { revision: 1, data: { some: 'state' } },
    'apps daemonsets': specOf('DaemonSet'),
    'apps deployments': specOf('Deployment'),
    'apps replicasets': specOf('ReplicaSet'),
    'apps statefulsets': specOf('StatefulSet', { serviceName: NAME }),
    'autoscaling horizontalpodautoscalers': {
      spec: { maxReplicas: 3, scaleTargetRef: { apiVersion: 'apps/v1', kind: 'Deployment', name: NAME } },
    },
    'batch cronjobs': { spec: { schedule: '*/5 * * * *', jobTemplate: { spec: JOB_SPEC } } },
    'batch jobs': { spec: JOB_SPEC },
    'coordination leases': { spec: { holderIdentity: 'me', leaseDurationSeconds: 15 } },
    'discovery endpointslices': {
      addressType: 'IPv4',
      endpoints: [{ addresses: ['10.1.2.3'] }],
      ports: [{ port: 80 }],
    },
    'events events': events(),
    'flowcontrol.apiserver flowschemas': { spec: { priorityLevelConfiguration: { name: 'global-default' } } },
    'flowcontrol.apiserver prioritylevelconfigurations': {
      spec: { type: 'Limited', limited: { limitResponse: { type: 'Reject' } } },
    },
    'networking ingressclasses': { spec: { controller: 'example.com/ingress' } },
    'networking ingresses': { spec: { rules: [ingress] } },
    'networking networkpolicies': { spec: { podSelector: { matchLabels: { app: NAME } } } },
    'node runtimeclasses': { handler: 'runc' },
    'policy poddisruptionbudgets': { spec: { minAvailable: 1, selector: { matchLabels: { app: NAME } } } },
    'policy podsecuritypolicies': {
      spec: {
        seLinux: { rule: 'RunAsAny' },
        runAsUser: { rule: 'RunAsAny' },
        supplementalGroups: { rule: 'RunAsAny' },
        fsGroup: { rule: 'RunAsAny' },
        volumes: ['configMap'],
      },
    },
    'rbac.authorization clusterroles': { rules: [{ verbs: ['get'], apiGroups: [''], resources: ['pods'] }] },
    'rbac.authorization roles': { rules: [{ verbs: ['get'], apiGroups: [''], resources: ['pods'] }] },
    'rbac.authorization clusterrolebindings': { roleRef, subjects: [{ kind: 'User', name: 'ann' }] },
    'rbac.authorization rolebindings': { roleRef, subjects: [{ kind: 'User', name: 'ann' }] },
    'scheduling priorityclasses': { value: 1000 },
    'storage csidrivers': { spec: {} },
    'storage csinodes': { spec: { drivers: [{ name: 'd.example.com', nodeID: 'n1' }] } },
    'storage csistoragecapacities': { storageClassName: 'fast', capacity: '1Gi' },
    'storage storageclasses': { provisioner: 'example.com/disk' },
    'storage volumeattachments': {
      spec: { attacher: 'example.com', nodeName: 'n1', source: { persistentVolumeName: 'pv' } },
    },
  };
}

/** A PKCS#10 request for `/CN=ann`, made by `openssl req -newkey ec`. */
const REQUEST = [
  '-----BEGIN CERTIFICATE REQUEST-----',
  'MIHHMHACAQAwDjEMMAoGA1UEAwwDYW5uMFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcD',
  'QgAEROtieLwAR5+E9idmk9SqqRYM2L9zApPkiHEdgwIUsboJ+3hBYBLN3D8KwKX0',
  'W0rDhFtRev2VxoYT1Fww+PyliaAAMAoGCCqGSM49BAMCA0cAMEQCIBFBEsdh8Ai1',
  'AmqlFnrbdAjbO54UKtbmo00TK5o4y0sOAiAn5lrx16cTK9Q6S641jUQrirmkKXfd',
  'kZYur9pLW5WDYA==',
  '-----END CERTIFICATE REQUEST-----',
  '',
].join('\n');

/** A request for a client certificate. */
export const certificateRequest = ({ domain, apiServerClientSigner }: Vocabulary): Json => ({
  spec: {
    request: Buffer.from(REQUEST).toString('base64'),
    signerName: `${domain}/${apiServerClientSigner}`,
    usages: ['client auth'],
  },
});

/** Every kind that can be created and read again; those with namespaces in `default`. */
export function samples(words: Vocabulary): readonly Sample[] {
  const table = others(words);
  return builtinFacts(words)
    .filter(({ info }) => info.verbs.includes('create') && info.verbs.includes('list'))
    .map(({ info, typeRef }) => {
      const { group, version, plural, kind, namespaced } = info;
      const bare = group.replace(`.${words.apiGroupDomain}`, '');
      const content =
        plural === 'certificatesigningrequests'
          ? certificateRequest(words)
          : group === ''
            ? CORE[plural]
            : table[`${bare} ${plural}`];
      const apiVersion = group === '' ? version : `${group}/${version}`;
      const root = group === '' ? `/api/${version}` : `/apis/${apiVersion}`;
      const name = `${NAME}-${version}`;
      return {
        id: `${apiVersion} ${plural}`,
        plural,
        kind,
        apiVersion,
        typeRef,
        path: `${root}${namespaced ? '/namespaces/default' : ''}/${plural}`,
        object: { apiVersion, kind, metadata: { name }, ...content },
      };
    });
}

/** Conditions with which the server's own controllers end what they do with a new object. */
const LAST_WORDS: Readonly<Record<string, string>> = {
  CustomResourceDefinition: 'Established',
  APIService: 'Available',
};

/** The object as it is once the server's own controllers have had their say. */
export function settled(client: Client, path: string, kind: string): Promise<Body> {
  const word = LAST_WORDS[kind];
  return eventually(async () => {
    const { body } = await client.get(path);
    const conditions = (body.status?.['conditions'] ?? []) as readonly Json[];
    return word === undefined || conditions.some(({ type }) => type === word) ? body : undefined;
  });
}
