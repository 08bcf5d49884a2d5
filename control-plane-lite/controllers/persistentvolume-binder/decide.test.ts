import { describe, expect, test } from 'vitest';
import type { PersistentVolume, PersistentVolumeClaim } from '#api/gen/core-v1.ts';
import type { StorageClass } from '#api/gen/storage-v1.ts';
import { claimOf, NAMES, refTo, volumeOf } from './binder.fixture.ts';
import { decideClaim } from './decide-claim.ts';
import { decideVolume } from './decide-volume.ts';

const completed = { annotations: { [NAMES.bindCompleted]: 'yes' } };
const classNamed = (changes: Partial<StorageClass>): StorageClass => ({ provisioner: 'ex/made', ...changes });
const late = classNamed({ volumeBindingMode: 'WaitForFirstConsumer' });

interface World {
  readonly volumes?: readonly PersistentVolume[];
  readonly storageClass?: StorageClass;
}

/** Short form of a decision: its kind and its event. */
function names(claim: PersistentVolumeClaim, { volumes = [], storageClass }: World): string {
  const action = decideClaim(claim, {
    names: NAMES,
    volume: (name) => volumes.find(({ metadata }) => metadata?.name === name),
    candidates: () => volumes,
    storageClass: () => storageClass,
  });
  if (action.kind === 'bind') return `bind ${action.volume.metadata?.name}`;
  return `${action.kind} ${action.event?.reason ?? ''}`.trim();
}

describe('decideClaim', () => {
  const selected = { annotations: { [NAMES.selectedNode]: 'n1' } };
  const internal = classNamed({ provisioner: `${NAMES.internalPrefix}no-provisioner` });

  test.each<[string, PersistentVolumeClaim, World, string]>([
    ['finds a volume', claimOf(), { volumes: [volumeOf('v')] }, 'bind v'],
    ['has no class', claimOf({ storageClassName: '' }), {}, 'wait FailedBinding'],
    ['has a missing class', claimOf(), {}, 'wait ProvisioningFailed'],
    ['has a class without a provisioner', claimOf(), { storageClass: internal }, 'wait ProvisioningFailed'],
    [
      'has a class that makes volumes',
      claimOf(),
      { storageClass: classNamed({}) },
      'provision ExternalProvisioning',
    ],
    [
      'waits for its first consumer',
      claimOf(),
      { storageClass: late, volumes: [volumeOf('v')] },
      'wait WaitForFirstConsumer',
    ],
    [
      'has a volume selected by the scheduler',
      claimOf(),
      { storageClass: late, volumes: [volumeOf('v', { claimRef: refTo() })] },
      'bind v',
    ],
    [
      'has a node selected by the scheduler',
      claimOf({}, selected),
      { storageClass: late },
      'provision ExternalProvisioning',
    ],
    ['names a missing volume', claimOf({ volumeName: 'v' }), {}, 'wait'],
    ['names a volume', claimOf({ volumeName: 'v' }), { volumes: [volumeOf('v')] }, 'bind v'],
    [
      'names a volume of another class',
      claimOf({ volumeName: 'v' }),
      { volumes: [volumeOf('v', { storageClassName: '' })] },
      'wait VolumeMismatch',
    ],
    [
      'names a volume that is pre-bound to it',
      claimOf({ volumeName: 'v' }),
      { volumes: [volumeOf('v', { claimRef: refTo('') })] },
      'bind v',
    ],
    [
      'names a volume of another claim',
      claimOf({ volumeName: 'v' }),
      { volumes: [volumeOf('v', { claimRef: refTo('uid-x', 'x') })] },
      'wait FailedBinding',
    ],
    ['was bound to a name that it lost', claimOf({}, completed), {}, 'lose ClaimLost'],
    ['was bound to a deleted volume', claimOf({ volumeName: 'v' }, completed), {}, 'lose ClaimLost'],
    [
      'was bound to a volume that others have',
      claimOf({ volumeName: 'v' }, completed),
      { volumes: [volumeOf('v', { claimRef: refTo('uid-x') })] },
      'lose ClaimMisbound',
    ],
    [
      'is bound',
      claimOf({ volumeName: 'v' }, completed),
      { volumes: [volumeOf('v', { claimRef: refTo() })] },
      'bind v',
    ],
    [
      'was bound to a volume that forgot it',
      claimOf({ volumeName: 'v' }, completed),
      { volumes: [volumeOf('v')] },
      'bind v',
    ],
  ])('a claim that %s', (_, claim, world, expected) => {
    expect(names(claim, world)).toBe(expected);
  });
});

describe('decideVolume', () => {
  const made = { annotations: { [NAMES.provisionedBy]: 'ex/made' } };
  const dropped = (spec: PersistentVolume['spec'], metadata = {}): PersistentVolume =>
    volumeOf('v', { claimRef: refTo(), ...spec }, metadata, 'Released');
  const bound = volumeOf('v', { claimRef: refTo() }, {}, 'Bound');

  test.each<[string, PersistentVolume, PersistentVolumeClaim | undefined, object]>([
    ['is free', volumeOf('v', {}, {}, 'Pending'), undefined, { kind: 'phase', phase: 'Available' }],
    [
      'is pre-bound to a claim that does not exist yet',
      volumeOf('v', { claimRef: refTo('') }),
      undefined,
      { kind: 'phase', phase: 'Available' },
    ],
    ['a claim has', bound, claimOf({ volumeName: 'v' }), { kind: 'phase', phase: 'Bound' }],
    ['a claim is about to have', bound, claimOf(), { kind: 'queueClaim' }],
    ['a claim can not have', bound, claimOf({ volumeMode: 'Block' }), { kind: 'reject' }],
    ['its claim left for another', bound, claimOf({ volumeName: 'w' }), { kind: 'unbind' }],
    ['has lost its claim', bound, undefined, { kind: 'phase', phase: 'Released' }],
    [
      'another claim of the name wants',
      bound,
      claimOf({ volumeName: 'v' }, { uid: 'new' }),
      { kind: 'phase', phase: 'Released' },
    ],
    ['is retained', dropped({}), undefined, { kind: 'none' }],
    [
      'is recycled by a pod',
      dropped({ persistentVolumeReclaimPolicy: 'Recycle', nfs: { server: 's', path: '/p' } }),
      undefined,
      { kind: 'recycle' },
    ],
    [
      'is deleted with its directory',
      dropped({ persistentVolumeReclaimPolicy: 'Delete', hostPath: { path: '/tmp/x' } }),
      undefined,
      { kind: 'deletePath', path: '/tmp/x' },
    ],
    ...['/', '/tmp', '/tmp/', '/tmp/../etc', '/tmp/a/./b', '/srv/tmp/x', '/tmpx/a'].map(
      (path): [string, PersistentVolume, undefined, object] => [
        `is at ${path}, which is not deleted`,
        dropped({ persistentVolumeReclaimPolicy: 'Delete', hostPath: { path } }),
        undefined,
        { kind: 'phase', phase: 'Failed', event: { reason: 'VolumeFailedDelete' } },
      ],
    ),
    [
      'cannot be recycled',
      dropped({ persistentVolumeReclaimPolicy: 'Recycle' }),
      undefined,
      { kind: 'phase', phase: 'Failed', event: { reason: 'VolumeFailedRecycle' } },
    ],
    [
      'cannot be deleted',
      dropped({ persistentVolumeReclaimPolicy: 'Delete' }),
      undefined,
      { kind: 'phase', phase: 'Failed', event: { reason: 'VolumeFailedDelete' } },
    ],
    [
      'its maker deletes',
      dropped({ persistentVolumeReclaimPolicy: 'Delete' }, made),
      undefined,
      { kind: 'none' },
    ],
    [
      'was made for a claim that left',
      volumeOf('v', { claimRef: refTo(), persistentVolumeReclaimPolicy: 'Delete' }, made, 'Bound'),
      claimOf({ volumeName: 'w' }),
      { kind: 'phase', phase: 'Released' },
    ],
  ])('a volume that %s', (_, volume, claim, expected) => {
    expect(decideVolume(volume, claim, NAMES)).toMatchObject(expected);
  });
});
