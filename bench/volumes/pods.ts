/** Pods of the volume rows: five of the most common sources. */

import type { ConfigMap, Pod, Secret, Volume } from '#api/gen/core-v1.ts';
import type { ObjectReader } from '#api/schema/object-reader.ts';

export const NAMESPACE = 'default';

export const CONFIG: Readonly<Record<string, string>> = {
  'app.yaml': 'listen: 8080\nlog: info\n'.repeat(20),
  'extra.properties': 'key=value\n'.repeat(20),
};
export const KEYS: Readonly<Record<string, string>> = { user: 'app', password: 'not-so-secret' };

const base64 = (text: string): string => Buffer.from(text).toString('base64');

const configMap: ConfigMap = { metadata: { name: 'config', namespace: NAMESPACE }, data: CONFIG };
const secret: Secret = {
  metadata: { name: 'keys', namespace: NAMESPACE },
  data: Object.fromEntries(Object.entries(KEYS).map(([key, text]) => [key, base64(text)])),
};

/** Contains only the objects that the pods name. */
export const objects: ObjectReader = {
  getConfigMap: () => Promise.resolve(configMap),
  getSecret: () => Promise.resolve(secret),
  getPersistentVolumeClaim: () => Promise.resolve(undefined),
  getEndpoints: () => Promise.resolve(undefined),
  getPersistentVolume: () => Promise.resolve(undefined),
};

const VOLUMES: readonly Volume[] = [
  { name: 'config', configMap: { name: 'config' } },
  { name: 'keys', secret: { secretName: 'keys' } },
  { name: 'scratch', emptyDir: {} },
  { name: 'memory', emptyDir: { medium: 'Memory' } },
  {
    name: 'all',
    projected: {
      sources: [
        { configMap: { name: 'config' } },
        { secret: { name: 'keys' } },
        { downwardAPI: { items: [{ path: 'name', fieldRef: { fieldPath: 'metadata.name' } }] } },
      ],
    },
  },
];

export const podUID = (index: number): string => `0000-${index}`;

export function volumePod(index: number): Pod {
  const name = `pod-${index}`;
  return {
    metadata: { name, namespace: NAMESPACE, uid: podUID(index) },
    spec: {
      containers: [
        {
          name: 'c',
          volumeMounts: VOLUMES.map((volume) => ({ name: volume.name, mountPath: `/${volume.name}` })),
        },
      ],
      volumes: VOLUMES,
    },
  };
}
