import { describe, expect, test } from 'vitest';
import type { Pod } from '../gen/core-v1.ts';
import { extractField, extractResource, FieldRefError } from './field-ref.ts';

const pod: Pod = {
  metadata: {
    name: 'web-node1',
    namespace: 'default',
    uid: '1234',
    labels: { zone: 'a', app: 'web' },
    annotations: { note: 'two\nlines "quoted" \\ \u0001é' },
  },
  spec: { containers: [], nodeName: 'node1', serviceAccountName: 'robot' },
  status: { hostIP: '192.0.2.1', podIP: '10.0.0.7', podIPs: [{ ip: '10.0.0.7' }, { ip: 'fd00::7' }] },
};

describe('extractField', () => {
  test.each([
    ['metadata.name', 'web-node1'],
    ['metadata.namespace', 'default'],
    ['metadata.uid', '1234'],
    ['metadata.labels', 'app="web"\nzone="a"'],
    ['metadata.annotations', 'note="two\\nlines \\"quoted\\" \\\\ \\x01é"'],
    ["metadata.labels['app']", 'web'],
    ["metadata.labels['absent']", ''],
    ["metadata.labels['constructor']", ''],
    ["metadata.annotations['note']", 'two\nlines "quoted" \\ \u0001é'],
    ['spec.nodeName', 'node1'],
    ['spec.serviceAccountName', 'robot'],
    ['status.hostIP', '192.0.2.1'],
    ['status.podIP', '10.0.0.7'],
    ['status.podIPs', '10.0.0.7,fd00::7'],
  ])('reads %s', (path, expected) => {
    expect(extractField(pod, path)).toBe(expected);
  });

  test.each(['spec', 'toString', 'metadata.labels[app]', "metadata.name['x']", ''])('refuses %j', (path) => {
    expect(() => extractField(pod, path)).toThrow(FieldRefError);
  });

  test('is empty for an empty pod', () => {
    expect(extractField({}, 'metadata.labels')).toBe('');
    expect(extractField({}, 'status.podIP')).toBe('');
  });
});

describe('extractResource', () => {
  const container = {
    name: 'app',
    resources: { limits: { cpu: '1500m', memory: '64Mi' }, requests: { cpu: '250m' } },
  };
  const node = { cpu: 3.92, memory: 8 * 2 ** 30 };
  test.each([
    ['limits.cpu', undefined, '2'],
    ['limits.cpu', '1m', '1500'],
    ['limits.cpu', '0', '2'],
    ['limits.memory', undefined, '67108864'],
    ['limits.memory', '1Mi', '64'],
    ['limits.memory', '1M', '68'],
    ['requests.cpu', '1m', '250'],
    ['requests.cpu', '', '1'],
    ['requests.memory', '1Mi', '0'],
    ['limits.hugepages-2Mi', undefined, '0'],
  ])('%s in units of %s is %s', (resource, divisor, expected) => {
    expect(extractResource(container, resource, divisor, node)).toBe(expected);
  });

  test.each([
    ['limits.cpu', '1m', '3920'],
    ['limits.memory', '1Gi', '8'],
    ['limits.ephemeral-storage', undefined, '0'],
    ['requests.cpu', '1m', '0'],
  ])('%s without a value falls back to the node', (resource, divisor, expected) => {
    expect(extractResource({ name: 'app' }, resource, divisor, node)).toBe(expected);
  });

  test.each([
    ['limits.disk', undefined],
    ['cpu', undefined],
    ['limits.cpu', 'x'],
    ['limits.cpu', '-1'],
  ])('refuses %s with divisor %s', (resource, divisor) => {
    expect(() => extractResource(container, resource, divisor, node)).toThrow(FieldRefError);
  });
});
