import { describe, expect, test } from 'vitest';
import type { PersistentVolume, PersistentVolumeClaim } from '#api/gen/core-v1.ts';
import { decideExpansion, type ExpandAction, type ExpandView, expanderNames } from './decide.ts';

const NAMES = expanderNames({ domain: 'x.io' });
const VIEW: ExpandView = {
  names: NAMES,
  migrated: ({ spec }) =>
    spec?.cinder === undefined ? undefined : { plugin: 'x.io/cinder', driver: 'cinder.example' },
};
const external = { kind: 'external', size: '2Gi', message: expect.any(String) as string } as const;

interface Claim {
  readonly phase?: string;
  readonly wanted?: string;
  readonly has?: string;
  readonly condition?: string;
}

const claim = ({
  phase = 'Bound',
  wanted = '2Gi',
  has = '1Gi',
  condition,
}: Claim): PersistentVolumeClaim => ({
  metadata: { namespace: 'ns', name: 'c', uid: 'u' },
  spec: { volumeName: 'pv', resources: { requests: { storage: wanted } } },
  status: {
    phase: phase as 'Bound',
    capacity: { storage: has },
    ...(condition === undefined ? {} : { conditions: [{ type: condition, status: 'True' }] }),
  },
});

const volume = (size: string, source: PersistentVolume['spec'], sizeBefore?: string): PersistentVolume => ({
  metadata: {
    name: 'pv',
    ...(sizeBefore === undefined ? {} : { annotations: { [NAMES.sizeBefore]: sizeBefore } }),
  },
  spec: { capacity: { storage: size }, claimRef: { namespace: 'ns', name: 'c', uid: 'u' }, ...source },
});

const FLEX = { flexVolume: { driver: 'v/flex' } };
const CSI = { csi: { driver: 'd', volumeHandle: 'h' } };

describe('decideExpansion', () => {
  test.each<[string, Claim, PersistentVolume | undefined, ExpandAction]>([
    ['of a claim that has enough', { wanted: '1Gi' }, volume('1Gi', FLEX), { kind: 'none' }],
    ['of a claim that is not bound', { phase: 'Pending' }, volume('1Gi', FLEX), { kind: 'none' }],
    ['without its volume', {}, undefined, { kind: 'none' }],
    [
      'of a volume that is another claim’s',
      {},
      volume('1Gi', { ...FLEX, claimRef: { namespace: 'ns', name: 'c', uid: 'other' } }),
      { kind: 'none' },
    ],
    ['by a CSI driver', {}, volume('1Gi', CSI), external],
    ['of a volume without an expander', {}, volume('1Gi', { nfs: { server: 's', path: '/' } }), external],
    [
      'by the driver that took the place of a plugin',
      {},
      volume('1Gi', { cinder: { volumeID: 'c' } }),
      { ...external, resizer: 'cinder.example' },
    ],
    ['begins', {}, volume('1Gi', FLEX), { kind: 'begin', resizer: 'v/flex' }],
    [
      'goes on with the volume',
      { condition: 'Resizing' },
      volume('1Gi', FLEX),
      { kind: 'grow', size: '2Gi', sizeBefore: '1Gi' },
    ],
    [
      'keeps the first size where it grows twice',
      { condition: 'Resizing', wanted: '3Gi' },
      volume('2Gi', FLEX, '1Gi'),
      { kind: 'grow', size: '3Gi', sizeBefore: '1Gi' },
    ],
    ['is left to the node', { condition: 'Resizing' }, volume('2Gi', FLEX, '1Gi'), { kind: 'leaveToNode' }],
    [
      'is left to the node from the start where the volume is large enough',
      {},
      volume('5Gi', FLEX),
      { kind: 'leaveToNode' },
    ],
    [
      'waits for the node',
      { condition: 'FileSystemResizePending' },
      volume('2Gi', FLEX, '1Gi'),
      { kind: 'none' },
    ],
    [
      'begins anew where more is wanted meanwhile',
      { condition: 'FileSystemResizePending', wanted: '3Gi' },
      volume('2Gi', FLEX, '1Gi'),
      { kind: 'begin', resizer: 'v/flex' },
    ],
    ['is done when the node is', { has: '2Gi' }, volume('2Gi', FLEX, '1Gi'), { kind: 'finish' }],
  ])('%s', (_, given, seen, expected) => {
    expect(decideExpansion(claim(given), seen, VIEW)).toEqual(expected);
  });
});
