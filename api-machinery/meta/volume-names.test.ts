import { describe, expect, test } from 'vitest';
import {
  type AttachableSource,
  attachableVolumeName,
  attachmentName,
  csiVolumeName,
  parseCsiVolumeName,
} from './volume-names.ts';

describe('attachableVolumeName', () => {
  test.each<[string, AttachableSource, string | undefined]>([
    ['csi', { csi: { driver: 'd.example', volumeHandle: 'vol^1' } }, 'x.io/csi/d.example^vol^1'],
    [
      'iscsi',
      { iscsi: { targetPortal: '10.0.0.1:3260', iqn: 'iqn.a:b', lun: 2 } },
      'x.io/iscsi/10.0.0.1:3260:iqn.a:b:2',
    ],
    ['fc by target', { fc: { targetWWNs: ['a', 'b'], lun: 0 } }, 'x.io/fc/[a b]:0'],
    ['fc by identifier', { fc: { wwids: ['w'] } }, 'x.io/fc/[w]'],
    ['fc without either', { fc: { targetWWNs: ['a'] } }, undefined],
    ['rbd', { rbd: { monitors: ['m1', 'm2'], image: 'i' } }, 'x.io/rbd/[m1 m2]:i'],
    ['a volume that is not attached', {}, undefined],
  ])('of %s', (_, source, expected) => {
    expect(attachableVolumeName('x.io', source)).toBe(expected);
  });
});

test('parseCsiVolumeName is the inverse of csiVolumeName', () => {
  expect(parseCsiVolumeName('x.io', csiVolumeName('x.io', 'd', 'h^i'))).toEqual({
    driver: 'd',
    handle: 'h^i',
  });
  expect(parseCsiVolumeName('x.io', 'x.io/iscsi/a:b:0')).toBeUndefined();
  expect(parseCsiVolumeName('x.io', 'y.io/csi/d^h')).toBeUndefined();
});

test('attachmentName is unique for a volume on a node, and stable', () => {
  expect(attachmentName('d.example', 'vol-1', 'node-1')).toBe(
    'csi-566e4f8372914fa858a970755d61eacfdaedcedddce9ada63afb2eff55df1291',
  );
  expect(attachmentName('d.example', 'vol-1', 'node-2')).not.toBe(
    attachmentName('d.example', 'vol-1', 'node-1'),
  );
});
