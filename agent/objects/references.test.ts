import { describe, expect, test } from 'vitest';
import type { PodSpec } from '#api/gen/core-v1.ts';
import { formatObjectKey, objectReferences } from './references.ts';

const plain = { name: 'main', image: 'busybox' };

const rows: readonly [string, PodSpec, readonly string[]][] = [
  ['nothing', { containers: [plain] }, []],
  [
    'env of a container',
    {
      containers: [
        {
          ...plain,
          env: [
            { name: 'A', value: 'literal' },
            { name: 'B', valueFrom: { configMapKeyRef: { name: 'cm', key: 'k' } } },
            { name: 'C', valueFrom: { secretKeyRef: { name: 'sec', key: 'k', optional: true } } },
          ],
        },
      ],
    },
    ['ConfigMap ns/cm', 'Secret ns/sec'],
  ],
  [
    'envFrom of init and ephemeral containers',
    {
      containers: [plain],
      initContainers: [{ ...plain, envFrom: [{ configMapRef: { name: 'cm' } }] }],
      ephemeralContainers: [{ ...plain, envFrom: [{ secretRef: { name: 'sec' } }] }],
    },
    ['ConfigMap ns/cm', 'Secret ns/sec'],
  ],
  [
    'volumes',
    {
      containers: [plain],
      volumes: [
        { name: 'a', configMap: { name: 'cm' } },
        { name: 'b', secret: { secretName: 'sec' } },
        { name: 'c', persistentVolumeClaim: { claimName: 'claim' } },
        { name: 'd', ephemeral: { volumeClaimTemplate: { spec: {} } } },
        { name: 'e', emptyDir: {} },
        { name: 'f', glusterfs: { endpoints: 'gluster', path: 'v' } },
      ],
    },
    [
      'ConfigMap ns/cm',
      'Secret ns/sec',
      'PersistentVolumeClaim ns/claim',
      'PersistentVolumeClaim ns/web-d',
      'Endpoints ns/gluster',
    ],
  ],
  [
    'projected volumes',
    {
      containers: [plain],
      volumes: [
        {
          name: 'a',
          projected: { sources: [{ configMap: { name: 'cm' } }, { secret: { name: 'sec' } }, {}] },
        },
      ],
    },
    ['ConfigMap ns/cm', 'Secret ns/sec'],
  ],
  [
    'logins of volumes and registries',
    {
      containers: [plain],
      imagePullSecrets: [{ name: 'registry' }],
      volumes: [{ name: 'a', csi: { driver: 'd', nodePublishSecretRef: { name: 'csi' } } }],
    },
    ['Secret ns/csi', 'Secret ns/registry'],
  ],
  [
    'one object used twice, once',
    {
      containers: [
        { ...plain, envFrom: [{ configMapRef: { name: 'cm' } }, { configMapRef: { name: 'cm' } }] },
        { ...plain, envFrom: [{ configMapRef: { name: 'cm' } }, { configMapRef: {} }] },
      ],
    },
    ['ConfigMap ns/cm'],
  ],
];

describe('objectReferences', () => {
  test.each(rows)('finds %s', (_name, spec, expected) => {
    const pod = { metadata: { name: 'web', namespace: 'ns' }, spec };
    expect(objectReferences(pod).map(formatObjectKey)).toEqual(expected);
  });

  test('finds nothing in a pod without spec', () => {
    expect(objectReferences({ metadata: { name: 'web' } })).toEqual([]);
  });
});
