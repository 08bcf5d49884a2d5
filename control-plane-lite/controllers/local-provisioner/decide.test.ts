import { describe, expect, test } from 'vitest';
import type { Node, PersistentVolume, PersistentVolumeClaim } from '#api/gen/core-v1.ts';
import type { StorageClass } from '#api/gen/storage-v1.ts';
import { VOCABULARIES } from '#api/vocabulary.ts';
import { decideLeftovers, decideProvision, isToDelete, kindOf, provisionerNames } from './decide.ts';
import { parseCreated, parseList } from './volume.ts';

const NAMES = provisionerNames(VOCABULARIES.plat);
const FILESYSTEM = `${NAMES.prefix}filesystem`;
const DIRECTORY = `${NAMES.prefix}directory`;
const NODE: Node = { metadata: { name: 'n1', labels: { [NAMES.hostname]: 'h1' } } };

const CLASS: StorageClass = {
  metadata: { name: 'local' },
  provisioner: FILESYSTEM,
  volumeBindingMode: 'WaitForFirstConsumer',
};

const ANNOTATIONS = { [NAMES.provisioner]: FILESYSTEM, [NAMES.selectedNode]: 'n1' };

const claim = (
  spec: PersistentVolumeClaim['spec'] = {},
  metadata: PersistentVolumeClaim['metadata'] = {},
): PersistentVolumeClaim => ({
  metadata: { namespace: 'default', name: 'data', uid: 'u1', annotations: ANNOTATIONS, ...metadata },
  spec: { storageClassName: 'local', resources: { requests: { storage: '1Gi' } }, ...spec },
});

interface Given {
  readonly storageClass?: StorageClass | null;
  readonly volumes?: readonly string[];
  readonly node?: Node | null;
}

const decide = (
  given: PersistentVolumeClaim,
  { storageClass = CLASS, volumes = [], node = NODE }: Given = {},
) =>
  decideProvision(given, {
    names: NAMES,
    storageClass: () => storageClass ?? undefined,
    volume: (name) => (volumes.includes(name) ? { metadata: { name } } : undefined),
    node: () => node ?? undefined,
  });

describe('decideProvision', () => {
  test('requests a volume of the node that was selected', () => {
    expect(decide(claim())).toEqual({
      kind: 'provision',
      node: 'n1',
      volumeName: 'pvc-u1',
      request: {
        kind: 'filesystem',
        sizeBytes: 2 ** 30,
        reclaimPolicy: 'Delete',
        claim: { namespace: 'default', name: 'data' },
      },
    });
  });

  test('takes the policy of the class', () => {
    const storageClass: StorageClass = { ...CLASS, reclaimPolicy: 'Retain' };
    expect(decide(claim(), { storageClass })).toMatchObject({ request: { reclaimPolicy: 'Retain' } });
  });

  test.each<[string, PersistentVolumeClaim, Given?]>([
    ['is bound', claim({ volumeName: 'pv' })],
    ['is of another provisioner', claim({}, { annotations: { ...ANNOTATIONS, [NAMES.provisioner]: 'x/y' } })],
    ['has no class', claim(), { storageClass: null }],
    ['is being deleted', claim({}, { deletionTimestamp: '2026-01-01T00:00:00Z' })],
    ['has no node yet', claim({}, { annotations: { [NAMES.provisioner]: FILESYSTEM } })],
    ['has a volume', claim(), { volumes: ['pvc-u1'] }],
  ])('does nothing for a claim that %s', (_, given, more) => {
    expect(decide(given, more)).toEqual({ kind: 'none' });
  });

  test.each<[PersistentVolumeClaim, Given, RegExp]>([
    [
      claim(),
      { storageClass: { ...CLASS, volumeBindingMode: 'Immediate' } },
      /needs volumeBindingMode WaitFor/,
    ],
    [claim(), { storageClass: { ...CLASS, mountOptions: ['ro'] } }, /mountOptions/],
    [claim({ volumeMode: 'Block' }), {}, /volumeMode Block/],
    [claim({ selector: {} }), {}, /spec\.selector/],
    [claim({ dataSource: { kind: 'x', name: 'y' } }), {}, /spec\.dataSource/],
    [claim(), { node: { metadata: { name: 'n1' } } }, /node n1 has no label/],
  ])('rejects %#', (given, more, message) => {
    const action = decide(given, more);
    expect(action.kind).toBe('reject');
    expect(action).toHaveProperty('message');
    expect('message' in action ? action.message : '').toMatch(message);
  });

  test('asks for another node if the selected one is gone', () => {
    expect(decide(claim(), { node: null })).toMatchObject({ kind: 'reschedule' });
  });
});

test.each<[string, Partial<PersistentVolume>, boolean]>([
  ['released', {}, true],
  ['bound', { status: { phase: 'Bound' } }, false],
  ['retained', { spec: { persistentVolumeReclaimPolicy: 'Retain' } }, false],
  ['of another provisioner', { metadata: { annotations: { [NAMES.provisionedBy]: 'x/y' } } }, false],
])('isToDelete: a volume that is %s', (_, change, expected) => {
  const volume: PersistentVolume = {
    metadata: { annotations: { [NAMES.provisionedBy]: DIRECTORY } },
    spec: { persistentVolumeReclaimPolicy: 'Delete' },
    status: { phase: 'Released' },
    ...change,
  };
  expect(isToDelete(volume, NAMES)).toBe(expected);
});

test('decideLeftovers: unused volumes that belong to nothing', () => {
  const found = parseList({
    items: [
      { name: 'pvc-1', used: false },
      { name: 'pvc-2', used: true },
      { name: 'pvc-3', used: false },
      { name: 'other', used: false },
      { name: 'pvc-4' },
      null,
    ],
  });
  expect(decideLeftovers(found, (name) => name === 'pvc-3')).toEqual(['pvc-1']);
});

test.each([`${NAMES.prefix}x`, `${NAMES.internalPrefix}directory`, '', undefined])(
  'kindOf ignores the provisioner %j',
  (name) => {
    expect(kindOf(name, NAMES)).toBeUndefined();
  },
);

test.each<unknown>([
  undefined,
  'text',
  { path: 'relative', sizeBytes: 1 },
  { path: '/a/../b', sizeBytes: 1 },
  { path: '/a', sizeBytes: 'x' },
])('parseCreated rejects %j', (value) => {
  expect(parseCreated(value)).toBeUndefined();
});
