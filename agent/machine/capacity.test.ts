import { describe, expect, test } from 'vitest';
import { decideAllocatable, decideCapacity, type ResourceRules } from './capacity.ts';
import { MACHINE } from './machine.fixture.ts';

const RULES: ResourceRules = {
  maxPods: 110,
  podsPerCore: 0,
  systemReserved: {},
  platReserved: {},
  reservedSystemCPUs: '',
  evictionHard: {},
  ignoreEviction: false,
  localStorage: true,
};
const MEBIBYTE = 1024 ** 2;

describe('decideCapacity', () => {
  test('reports the capacity of the machine', () => {
    expect(decideCapacity({}, MACHINE, RULES)).toEqual({
      cpu: '4',
      memory: '8Gi',
      'ephemeral-storage': '100Gi',
      'hugepages-2Mi': '0',
      pods: '110',
    });
  });

  test.each([
    ['the limit of the node', { maxPods: 10, podsPerCore: 5 }, '10'],
    ['the limit by core', { maxPods: 110, podsPerCore: 5 }, '20'],
    ['no limit by core', { maxPods: 110, podsPerCore: 0 }, '110'],
  ])('limits pods by %s', (_, limits, pods) => {
    expect(decideCapacity({}, MACHINE, { ...RULES, ...limits })['pods']).toBe(pods);
  });

  test('retains extended resources of others, and drops removed huge pages', () => {
    const known = { 'example.com/gpu': '2', 'hugepages-1Gi': '4Gi', cpu: '1' };
    const capacity = decideCapacity(known, MACHINE, RULES);
    expect(capacity).toMatchObject({ 'example.com/gpu': '2', cpu: '4' });
    expect(capacity).not.toHaveProperty('hugepages-1Gi');
  });

  test('reports devices of plugins, and zero for removed ones', () => {
    const known = { 'example.com/gone': '2', 'example.com/other': '3' };
    const extended = { capacity: { 'example.com/gpu': '2' }, removed: ['example.com/gone'] };
    expect(decideCapacity(known, MACHINE, RULES, extended)).toMatchObject({
      'example.com/gpu': '2',
      'example.com/gone': '0',
      'example.com/other': '3',
    });
  });

  test.each([
    ['does not report the disk', MACHINE, { ...RULES, localStorage: false }],
    ['has a disk that could not be read', { ...MACHINE, rootBytes: undefined }, RULES],
  ])('has no storage when it %s', (_, { rootBytes, ...facts }, rules) => {
    const known = rules.localStorage ? facts : { ...facts, rootBytes: rootBytes ?? 0 };
    expect(decideCapacity({}, known, rules)).not.toHaveProperty('ephemeral-storage');
  });
});

describe('decideAllocatable', () => {
  const capacity = decideCapacity({}, MACHINE, RULES);

  test.each<readonly [string, Partial<ResourceRules>, object]>([
    ['all when nothing is reserved', {}, capacity],
    [
      'all but both reservations and what eviction keeps free',
      {
        systemReserved: { cpu: '200m', memory: '500Mi' },
        platReserved: { cpu: '300m', memory: '512Mi', 'ephemeral-storage': '1Gi' },
        evictionHard: { 'memory.available': '100Mi', 'nodefs.available': '10%', 'imagefs.available': '15%' },
      },
      { cpu: '3500m', memory: '7080Mi', 'ephemeral-storage': '89Gi', pods: '110' },
    ],
    [
      'what eviction would keep free where that is wished',
      { ignoreEviction: true, evictionHard: { 'memory.available': '100Mi' } },
      { memory: '8Gi' },
    ],
    [
      'thresholds that are off as none',
      { evictionHard: { 'nodefs.available': '0%' } },
      { 'ephemeral-storage': '100Gi' },
    ],
    [
      'all but the reserved CPUs, whatever amount is reserved',
      { reservedSystemCPUs: '0-1,3', systemReserved: { cpu: '500m', memory: '1Gi' } },
      { cpu: '1', memory: '7Gi' },
    ],
    [
      'nothing where more is reserved than there is',
      { systemReserved: { cpu: '5', memory: '9Gi' } },
      { cpu: '0', memory: '0' },
    ],
  ])('allocatable is %s', (_, rules, expected) => {
    expect(decideAllocatable(capacity, { ...RULES, ...rules })).toMatchObject(expected);
  });

  test('does not count huge pages as memory', () => {
    const facts = { ...MACHINE, hugePages: [{ sizeBytes: 2 * MEBIBYTE, count: 512 }] };
    const withPages = decideCapacity({}, facts, RULES);
    expect(decideAllocatable(withPages, RULES)).toMatchObject({ 'hugepages-2Mi': '1Gi', memory: '7Gi' });
  });

  test('writes odd shares exactly', () => {
    const odd = { 'ephemeral-storage': '1025' };
    const rules = { ...RULES, evictionHard: { 'nodefs.available': '10%' } };
    expect(decideAllocatable(odd, rules)).toEqual({ 'ephemeral-storage': '923' });
  });
});
