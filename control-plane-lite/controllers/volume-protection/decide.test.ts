import { describe, expect, test } from 'vitest';
import type { Pod } from '#api/gen/core-v1.ts';
import { claimUses, decideHold } from './decide.ts';

describe('decideHold', () => {
  test.each([
    [{ deleting: false, held: false, inUse: false }, 'add'],
    [{ deleting: false, held: true, inUse: false }, undefined],
    [{ deleting: true, held: true, inUse: true }, undefined],
    [{ deleting: true, held: true, inUse: false }, 'remove'],
    [{ deleting: true, held: false, inUse: false }, undefined],
  ])('%j: %s', (guarded, expected) => {
    expect(decideHold(guarded)).toBe(expected);
  });
});

describe('claimUses', () => {
  const template = { spec: { accessModes: ['ReadWriteOnce'] } } as const;
  const pod = (nodeName: string, metadata: Pod['metadata'] = {}): Pod => ({
    metadata: { name: 'p', uid: 'u', ...metadata },
    spec: {
      ...(nodeName === '' ? {} : { nodeName }),
      containers: [],
      volumes: [
        { name: 'data', persistentVolumeClaim: { claimName: 'c' } },
        { name: 'tmp', ephemeral: { volumeClaimTemplate: template } },
        { name: 'none', emptyDir: {} },
      ],
    },
  });
  const deletionTimestamp = '2026-01-01T00:00:00Z';

  test.each<[string, Pod, readonly object[]]>([
    ['without a node', pod(''), []],
    ['on a node', pod('n'), [{ name: 'c' }, { name: 'p-tmp', createdFor: 'u' }]],
    [
      'that is ending',
      pod('n', { deletionTimestamp, deletionGracePeriodSeconds: 30 }),
      [{ name: 'c' }, { name: 'p-tmp', createdFor: 'u' }],
    ],
    ['that has ended', pod('n', { deletionTimestamp, deletionGracePeriodSeconds: 0 }), [{ name: 'c' }]],
  ])('of a pod %s', (_, given, expected) => {
    expect(claimUses(given)).toEqual(expected);
  });
});
