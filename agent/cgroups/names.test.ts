import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  CgroupNameError,
  cgroupPath,
  parseCgroupName,
  podCgroup,
  podUidOf,
  qosCgroup,
  sameUid,
  sliceName,
} from './names.ts';

const OPTIONS = { root: ['nodeagent'], perQos: true };
const UID = '6dcf0d1a-22b3-4a7e-9b8a-000000000001';

test.each([
  ['', []],
  ['/', []],
  ['/a/b', ['a', 'b']],
  ['a', ['a']],
  ['/system.slice', ['system.slice']],
])('%j is read as %j', (text, name) => {
  expect(parseCgroupName(text)).toEqual(name);
});

test.each(['/a/../b', '/.', '/a b', '/a\n', `/${'x'.repeat(300)}`])('%j is rejected', (text) => {
  expect(() => parseCgroupName(text)).toThrow(CgroupNameError);
});

describe('a cgroup is written', () => {
  test.each([
    [[], '/', '/', '-.slice'],
    [['nodeagent'], '/nodeagent', '/nodeagent.slice', 'nodeagent.slice'],
    [
      ['nodeagent', 'burstable'],
      '/nodeagent/burstable',
      '/nodeagent.slice/nodeagent-burstable.slice',
      'nodeagent-burstable.slice',
    ],
    [['my-pods', 'pod1-2'], '/my-pods/pod1-2', '/my_pods.slice/my_pods-pod1_2.slice', 'my_pods-pod1_2.slice'],
    [['system.slice', 'x'], '/system.slice/x', '/system.slice/system-x.slice', 'system-x.slice'],
  ])('%j as %s or %s', (name, cgroupfs, systemd, slice) => {
    expect([cgroupPath(name, 'cgroupfs'), cgroupPath(name, 'systemd'), sliceName(name)]).toEqual([
      cgroupfs,
      systemd,
      slice,
    ]);
  });
});

describe('a pod', () => {
  test.each([
    ['Guaranteed', ['nodeagent', `pod${UID}`]],
    ['Burstable', ['nodeagent', 'burstable', `pod${UID}`]],
    ['BestEffort', ['nodeagent', 'besteffort', `pod${UID}`]],
  ] as const)('of class %s is in %j', (qos, name) => {
    expect(podCgroup(OPTIONS, qos, UID)).toEqual(name);
  });

  test('is in the cgroup of all pods without QoS class cgroups', () => {
    expect(podCgroup({ ...OPTIONS, perQos: false }, 'BestEffort', 'u')).toEqual(['nodeagent', 'podu']);
    expect(qosCgroup({ ...OPTIONS, perQos: false }, 'Burstable')).toEqual(['nodeagent']);
  });

  test.each(['', '..', '../x', 'a/b', 'a b'])('rejects the UID %j', (uid) => {
    expect(() => podCgroup(OPTIONS, 'Guaranteed', uid)).toThrow(CgroupNameError);
  });

  test('is identified by its directory name', () => {
    fc.assert(
      fc.property(fc.uuid(), fc.constantFrom('cgroupfs', 'systemd'), (uid, driver) => {
        const folder =
          cgroupPath(podCgroup(OPTIONS, 'Burstable', uid), driver)
            .split('/')
            .at(-1) ?? '';
        expect(sameUid(podUidOf(folder, driver) ?? '', uid)).toBe(true);
      }),
    );
    expect(podUidOf('burstable', 'cgroupfs')).toBeUndefined();
    expect(podUidOf('nodeagent-burstable.slice', 'systemd')).toBeUndefined();
  });
});
