import { describe, expect, test } from 'vitest';
import type { PersistentVolumeSpec } from '#api/gen/core-v1.ts';
import { formatObjectKey, type ObjectKey } from './references.ts';
import { createLedTo, persistentVolumeReferences } from './volume-references.ts';

const claimRef = { namespace: 'ns', name: 'claim' };
const elsewhere = { namespace: 'vault', name: 'key' };
const here = { name: 'key' };
const monitors = ['10.0.0.1'];
const iscsi = { targetPortal: '10.0.0.1', iqn: 'iqn.2001-04.com.example:disk', lun: 0 };
const scaleIO = { gateway: 'https://g', system: 's' };

const rows: readonly [string, PersistentVolumeSpec, readonly string[]][] = [
  ['nothing', { hostPath: { path: '/x' } }, []],
  [
    'azureFile',
    { azureFile: { secretName: 'key', secretNamespace: 'vault', shareName: 's' } },
    ['Secret vault/key'],
  ],
  ['azureFile without a namespace', { azureFile: { secretName: 'key', shareName: 's' } }, ['Secret ns/key']],
  ['cephfs', { cephfs: { monitors, secretRef: elsewhere } }, ['Secret vault/key']],
  [
    'csi: what the node reads, and nothing of others',
    {
      csi: {
        driver: 'd',
        volumeHandle: 'h',
        nodeStageSecretRef: elsewhere,
        nodePublishSecretRef: { namespace: 'vault', name: 'other' },
        controllerPublishSecretRef: { namespace: 'vault', name: 'attacher' },
        controllerExpandSecretRef: { namespace: 'vault', name: 'resizer' },
      },
    },
    ['Secret vault/key', 'Secret vault/other'],
  ],
  ['flexVolume', { flexVolume: { driver: 'a/b', secretRef: elsewhere } }, ['Secret vault/key']],
  ['iscsi', { iscsi: { ...iscsi, secretRef: here } }, ['Secret ns/key']],
  ['rbd', { rbd: { monitors, image: 'i', secretRef: elsewhere } }, ['Secret vault/key']],
  ['scaleIO', { scaleIO: { ...scaleIO, secretRef: elsewhere } }, ['Secret vault/key']],
  ['storageos', { storageos: { secretRef: elsewhere } }, ['Secret vault/key']],
  ['glusterfs', { glusterfs: { endpoints: 'servers', path: 'v' } }, ['Endpoints ns/servers']],
  [
    'glusterfs of another namespace',
    { glusterfs: { endpoints: 'servers', endpointsNamespace: 'vault', path: 'v' } },
    ['Endpoints vault/servers'],
  ],
];

describe('persistentVolumeReferences', () => {
  test.each(rows)('finds %s', (_name, spec, expected) => {
    const { claim, names } = persistentVolumeReferences({ spec: { ...spec, claimRef } });
    expect(names.map(formatObjectKey)).toEqual(expected);
    expect(claim === undefined ? '' : formatObjectKey(claim)).toBe('PersistentVolumeClaim ns/claim');
  });

  test.each(rows)('finds nothing in a volume that is for no claim: %s', (_name, spec) => {
    expect(persistentVolumeReferences({ spec })).toEqual({ names: [] });
  });
});

test('references of a volume are known as long as its claim is referenced', () => {
  const volume: ObjectKey = { kind: 'PersistentVolume', namespace: '', name: 'pv' };
  const secret: ObjectKey = { kind: 'Secret', namespace: 'vault', name: 'key' };
  const claim: ObjectKey = { kind: 'PersistentVolumeClaim', namespace: 'ns', name: 'claim' };
  const led = createLedTo();
  const spec = { claimRef, rbd: { monitors, image: 'i', secretRef: elsewhere } };
  led.note({ ...volume, kind: 'Secret' }, { spec });
  expect(led.has(secret)).toBe(false);
  led.note(volume, { spec });
  expect(led.has(secret)).toBe(true);
  expect(led.has({ ...secret, namespace: 'ns' })).toBe(false);
  led.forget({ ...claim, name: 'other' });
  expect(led.has(secret)).toBe(true);
  led.forget(claim);
  expect(led.has(secret)).toBe(false);
  led.note(volume, { spec });
  led.note(volume, { spec: { hostPath: { path: '/x' } } });
  expect(led.has(secret)).toBe(false);
});
