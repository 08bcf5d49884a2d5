import { describe, expect, test } from 'vitest';
import type { Pod } from '#api/gen/core-v1.ts';
import type { ObjectMeta } from '#api/gen/meta-v1.ts';
import { decideEphemeral } from './decide.ts';

const volumeClaimTemplate = { spec: { accessModes: ['ReadWriteOnce'] } } as const;
const POD: Pod = {
  metadata: { namespace: 'ns', name: 'p', uid: 'u' },
  spec: {
    containers: [],
    volumes: [
      { name: 'scratch', ephemeral: { volumeClaimTemplate } },
      { name: 'plain', emptyDir: {} },
      { name: 'data', persistentVolumeClaim: { claimName: 'c' } },
    ],
  },
};
const owner = (uid: string, controller = true): ObjectMeta => ({
  ownerReferences: [{ apiVersion: 'v1', kind: 'Pod', name: 'p', uid, controller }],
});

describe('decideEphemeral', () => {
  test.each<[string, Pod, ObjectMeta | undefined, readonly string[]]>([
    ['creates a missing claim', POD, undefined, ['create p-scratch']],
    ['leaves its claim as it is', POD, owner('u'), []],
    ['stops at the claim of an earlier pod of this name', POD, owner('before'), ['blocked p-scratch']],
    ['stops at a claim that it only belongs to', POD, owner('u', false), ['blocked p-scratch']],
    ['stops at a claim without an owner', POD, {}, ['blocked p-scratch']],
    [
      'makes none for a pod that is going',
      { ...POD, metadata: { ...POD.metadata, deletionTimestamp: '2026-01-01T00:00:00Z' } },
      undefined,
      [],
    ],
  ])('%s', (_, pod, claim, expected) => {
    const actions = decideEphemeral(pod, () => claim);
    expect(actions.map(({ kind, volume }) => `${kind} ${volume.claimName}`)).toEqual(expected);
  });

  test('reports a claim of another owner', () => {
    expect(decideEphemeral(POD, () => ({}))).toMatchObject([
      { message: 'PVC ns/p-scratch was not created for pod ns/p (pod is not owner)' },
    ]);
  });
});
