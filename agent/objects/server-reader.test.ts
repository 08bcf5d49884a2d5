import { describe, expect, it } from 'vitest';
import type { ObjectKey } from './references.ts';
import { createServerReader, namedObjects } from './server-reader.ts';

describe('createServerReader', () => {
  it('requests each kind by namespace and name', async () => {
    const asked: ObjectKey[] = [];
    const reader = createServerReader(
      {
        get: async (key) => {
          asked.push(key);
          return { metadata: { name: key.name }, subsets: [{ addresses: [{ ip: '10.0.0.1' }] }], later: 1 };
        },
      },
      'system',
    );
    await reader.getConfigMap('ns', 'a');
    await reader.getPersistentVolume('b');
    expect(await reader.getEndpoints('ns', 'gluster')).toEqual({
      metadata: { name: 'gluster' },
      subsets: [{ addresses: [{ ip: '10.0.0.1' }] }],
    });
    await reader.getSystemService?.('storage');
    expect(asked).toEqual([
      { kind: 'ConfigMap', namespace: 'ns', name: 'a' },
      { kind: 'PersistentVolume', namespace: '', name: 'b' },
      { kind: 'Endpoints', namespace: 'ns', name: 'gluster' },
      { kind: 'Service', namespace: 'system', name: 'storage' },
    ]);
  });

  it('returns undefined for missing objects', async () => {
    const reader = createServerReader({ get: async () => undefined }, 'system');
    expect(await reader.getEndpoints('ns', 'gluster')).toBeUndefined();
  });
});

describe('namedObjects', () => {
  it('returns references of pods that have not ended', () => {
    const spec = {
      containers: [],
      volumes: [{ name: 'v', glusterfs: { endpoints: 'gluster', path: 'data' } }],
    };
    const metadata = { namespace: 'ns', name: 'web' };
    expect(namedObjects([{ metadata, spec }])).toEqual([
      { kind: 'Endpoints', namespace: 'ns', name: 'gluster' },
    ]);
    expect(namedObjects([{ metadata, spec, status: { phase: 'Succeeded' } }])).toEqual([]);
  });
});
