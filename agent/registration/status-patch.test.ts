import { describe, expect, test } from 'vitest';
import type { Node, NodeStatus } from '#api/gen/core-v1.ts';
import { nodePatch, statusChanged } from './status-patch.ts';

const ready = (heartbeat: string, status = 'True') => ({
  type: 'Ready',
  status,
  lastHeartbeatTime: heartbeat,
  lastTransitionTime: '1',
  reason: 'r',
  message: 'm',
});
const STATUS: NodeStatus = {
  capacity: { cpu: '1', 'hugepages-1Gi': '0' },
  conditions: [ready('1'), { type: 'Theirs', status: 'True' }],
  addresses: [{ type: 'InternalIP', address: '10.0.0.1' }],
  images: [{ names: ['a'] }],
};
const node = (status: NodeStatus, metadata: Node['metadata'] = {}): Node => ({ metadata, status });

describe('nodePatch', () => {
  test.each<readonly [string, NodeStatus, unknown]>([
    ['nothing', STATUS, undefined],
    ['nothing for an empty list', { ...STATUS, volumesInUse: [] }, undefined],
    [
      'the heartbeat alone',
      { ...STATUS, conditions: [ready('2'), { type: 'Theirs', status: 'True' }] },
      { status: { conditions: [{ type: 'Ready', lastHeartbeatTime: '2' }] } },
    ],
    [
      'a new condition',
      { ...STATUS, conditions: [...(STATUS.conditions ?? []), { type: 'New', status: 'False' }] },
      { status: { conditions: [{ type: 'New', status: 'False' }] } },
    ],
    [
      'amounts that changed, came and went',
      { ...STATUS, capacity: { cpu: '2', memory: '1Gi' } },
      { status: { capacity: { cpu: '2', memory: '1Gi', 'hugepages-1Gi': null } } },
    ],
    [
      'addresses as a whole',
      {
        ...STATUS,
        addresses: [
          { type: 'InternalIP', address: '10.0.0.1' },
          { type: 'InternalIP', address: '2001:db8::1' },
        ],
      },
      {
        status: {
          addresses: [
            { type: 'InternalIP', address: '10.0.0.1' },
            { type: 'InternalIP', address: '2001:db8::1' },
            { $patch: 'replace' },
          ],
        },
      },
    ],
    [
      'a list as a whole',
      { ...STATUS, images: [{ names: ['b'] }] },
      { status: { images: [{ names: ['b'] }] } },
    ],
    ['a list that became empty', { ...STATUS, images: [] }, { status: { images: null } }],
  ])('sends %s', (_, after, patch) => {
    expect(nodePatch(node(STATUS), node(after))).toEqual(patch);
  });

  test('sends labels and annotations that changed, and never the spec', () => {
    const before = { ...node(STATUS, { labels: { a: '1', b: '2' }, annotations: { x: '1' } }), spec: {} };
    const after = {
      ...node(STATUS, { labels: { a: '2' }, annotations: { x: '1' } }),
      spec: { unschedulable: true },
    };
    expect(nodePatch(before, after)).toEqual({ metadata: { labels: { a: '2', b: null } } });
  });
});

describe('statusChanged', () => {
  test.each<readonly [string, NodeStatus, boolean]>([
    ['the same', STATUS, false],
    ['another heartbeat', { ...STATUS, conditions: [ready('2'), { type: 'Theirs', status: 'True' }] }, false],
    ['an empty list', { ...STATUS, volumesInUse: [] }, false],
    [
      'another word',
      { ...STATUS, conditions: [ready('1', 'False'), { type: 'Theirs', status: 'True' }] },
      true,
    ],
    ['another amount', { ...STATUS, capacity: { cpu: '2' } }, true],
    ['a volume', { ...STATUS, volumesInUse: ['v'] }, true],
  ])('%s', (_, after, changed) => {
    expect(statusChanged(STATUS, after)).toBe(changed);
  });
});
