/** Log of a server that starts with objects of every kind in its store: controllers are notified of them
 *  while they are still being constructed. */
import { expect, test } from 'vitest';
import { logListenerFailures } from '#api/kit/listeners.ts';
import type { Logger } from '#api/kit/logger.ts';
import { VOCABULARIES } from '#api/vocabulary.ts';
import { startTestPlane } from '#plane/main.fixture.ts';
import { eventually } from '../../testing/wait.ts';

const words = VOCABULARIES.kubernetes;
const NAMESPACE = '/api/v1/namespaces/default';
const template = {
  metadata: { labels: { app: 'a' } },
  spec: { containers: [{ name: 'c', image: 'i:1' }] },
};
const selector = { matchLabels: { app: 'a' } };
const job = { template: { spec: { ...template.spec, restartPolicy: 'Never' } } };
const apps = '/apis/apps/v1/namespaces/default';
const resources = { requests: { storage: '1Gi' } };
const accessModes = ['ReadWriteOnce'];

const OBJECTS: readonly (readonly [path: string, name: string, content: object])[] = [
  ['/api/v1/nodes', 'n1', {}],
  ['/api/v1/nodes', 'n2', { spec: { unschedulable: true } }],
  [
    `/apis/coordination.${words.apiGroupDomain}/v1/namespaces/${words.nodeLeaseNamespace}/leases`,
    'n1',
    { spec: { holderIdentity: 'n1' } },
  ],
  [`${NAMESPACE}/pods`, 'bound', { spec: { ...template.spec, nodeName: 'n1' } }],
  [`${NAMESPACE}/pods`, 'pending', { spec: { ...template.spec, schedulerName: 'none' } }],
  [`${NAMESPACE}/services`, 's', { spec: { selector: { app: 'a' }, ports: [{ port: 80 }] } }],
  [
    `${NAMESPACE}/endpoints`,
    'manual',
    { subsets: [{ addresses: [{ ip: '10.1.1.1' }], ports: [{ port: 1 }] }] },
  ],
  [`${NAMESPACE}/configmaps`, 'c', { data: { a: 'b' } }],
  [`${NAMESPACE}/secrets`, 'x', { stringData: { a: 'b' } }],
  [`${NAMESPACE}/serviceaccounts`, 'sa', {}],
  [`${NAMESPACE}/resourcequotas`, 'q', { spec: { hard: { pods: '100' } } }],
  [`${NAMESPACE}/replicationcontrollers`, 'rc', { spec: { replicas: 1, selector: { app: 'a' }, template } }],
  [
    '/api/v1/persistentvolumes',
    'pv',
    { spec: { capacity: { storage: '1Gi' }, accessModes, hostPath: { path: '/x' } } },
  ],
  [`${NAMESPACE}/persistentvolumeclaims`, 'pvc', { spec: { accessModes, resources, storageClassName: '' } }],
  [`${apps}/deployments`, 'd', { spec: { selector, template, replicas: 2 } }],
  [`${apps}/statefulsets`, 'sts', { spec: { serviceName: 's', selector, template } }],
  [`${apps}/daemonsets`, 'ds', { spec: { selector, template } }],
  ['/apis/batch/v1/namespaces/default/jobs', 'j', { spec: job }],
  [
    '/apis/batch/v1/namespaces/default/cronjobs',
    'cj',
    { spec: { schedule: '0 0 1 1 *', jobTemplate: { spec: job } } },
  ],
  ['/apis/policy/v1/namespaces/default/poddisruptionbudgets', 'pdb', { spec: { minAvailable: 1, selector } }],
  [`/apis/storage.${words.apiGroupDomain}/v1/storageclasses`, 'sc', { provisioner: 'p' }],
  [
    `/apis/storage.${words.apiGroupDomain}/v1/volumeattachments`,
    'va',
    { spec: { attacher: 'a', nodeName: 'n1', source: { persistentVolumeName: 'pv' } } },
  ],
];

test('starting over a store that has something of everything, a server logs neither warnings nor errors', async () => {
  const lines: string[] = [];
  const note = (fields: object, message: string): void => {
    const { err } = fields as { readonly err?: Error };
    lines.push(`${message} ${err?.message ?? ''}`);
  };
  const ignore = (): void => undefined;
  const log: Logger = {
    error: note,
    warn: note,
    info: ignore,
    debug: ignore,
    trace: ignore,
    child: () => log,
  };
  const end = logListenerFailures(log);
  try {
    await using plane = await startTestPlane(['--vocabulary=kubernetes'], log);
    await eventually(async () => (await plane.get(`${NAMESPACE}/serviceaccounts/default`)).status === 200);
    for (const [path, name, content] of OBJECTS) {
      const made = await plane.post(path, { metadata: { name }, ...content });
      expect([path, made.status, made.status === 201 ? '' : made.text]).toEqual([path, 201, '']);
    }
    const status = { conditions: [{ type: 'Ready', status: 'True', reason: 'r' }] };
    const contentType = 'application/merge-patch+json';
    for (const node of ['n1', 'n2']) {
      const patched = await plane.call('PATCH', `/api/v1/nodes/${node}/status`, {
        body: { status },
        contentType,
      });
      expect(patched.status).toBe(200);
    }
    lines.length = 0;
    await plane.restart();
    // A controller that works after the restart has heard of everything: what is new is looked after.
    await plane.post(`${apps}/replicasets`, { metadata: { name: 'new' }, spec: { selector, template } });
    await eventually(async () =>
      /"replicas":1,"fullyLabeled/.test((await plane.get(`${apps}/replicasets/new`)).text),
    );
    expect(lines).toEqual([]);
  } finally {
    end();
  }
});
