import { expect, test } from 'vitest';
import type { Event, Pod } from '#api/gen/core-v1.ts';
import { describePod } from './describe-pod.ts';

const NOW = Date.parse('2026-03-01T12:00:00Z');

const POD: Pod = {
  metadata: { name: 'web', namespace: 'shop', uid: 'u1', labels: { app: 'web' } },
  spec: {
    nodeName: 'n1',
    containers: [
      {
        name: 'main',
        image: 'local/web:1',
        command: ['sh', '-c', 'echo hi'],
        env: [
          { name: 'PASSWORD', value: 'hunter2' },
          { name: 'LEVEL', valueFrom: { configMapKeyRef: { name: 'cm', key: 'level' } } },
        ],
        volumeMounts: [{ name: 'data', mountPath: '/data', readOnly: true, subPath: 'x' }],
        readinessProbe: { httpGet: { port: 8080, path: '/ready' }, periodSeconds: 5 },
      },
    ],
    volumes: [{ name: 'data', configMap: { name: 'cm' } }],
  },
  status: {
    phase: 'Running',
    startTime: '2026-03-01T11:55:00Z',
    podIPs: [{ ip: '10.0.0.2' }],
    conditions: [{ type: 'Ready', status: 'False', reason: 'ContainersNotReady' }],
    containerStatuses: [
      {
        name: 'main',
        image: 'local/web:1',
        imageID: 'sha256:1',
        ready: false,
        restartCount: 3,
        state: { waiting: { reason: 'CrashLoopBackOff', message: 'back-off 20s' } },
        lastState: {
          terminated: {
            exitCode: 1,
            reason: 'Error',
            message: 'no\u001b[31m file',
            finishedAt: '2026-03-01T11:59:00Z',
          },
        },
      },
    ],
  },
};

const EVENT: Event = {
  metadata: {},
  involvedObject: { kind: 'Pod', name: 'web' },
  type: 'Warning',
  reason: 'BackOff',
  message: 'back-off restarting',
  count: 4,
  firstTimestamp: '2026-03-01T11:58:00Z',
  lastTimestamp: '2026-03-01T11:59:30Z',
};

const text = describePod(POD, [EVENT], NOW);

test.each([
  /^Name: {12}web$/m,
  /^Namespace: {7}shop$/m,
  /^Status: {10}CrashLoopBackOff$/m,
  /^Started: {9}2026-03-01T11:55:00Z \(5m ago\)$/m,
  /^IP: {14}10\.0\.0\.2$/m,
  /^Labels: {10}app=web$/m,
  /^ {2}main:$/m,
  /^ {4}Command: {9}sh -c "echo hi"$/m,
  /^ {4}State: {11}waiting: CrashLoopBackOff$/m,
  /^ {21}back-off 20s$/m,
  /^ {4}Last state: {6}terminated: Error \(exit code 1\)$/m,
  /^ {21}ended at 2026-03-01T11:59:00Z \(60s ago\)$/m,
  /^ {4}Readiness: {7}GET http:\/\/:8080\/ready, every 5s, timeout 1s, after 0s, fails after 3/m,
  /LEVEL from ConfigMap cm, key level/,
  /^ {4}Mounts: {10}\/data from data\/x \(read-only\)$/m,
  /^ {2}Ready {2}False {4}<unknown> {3}ContainersNotReady$/m,
  /^ {2}data {3}configMap {3}cm$/m,
  /^ {2}30s \(x4 over 2m\) {3}Warning {3}BackOff {2}back-off restarting$/m,
])('shows %s', (pattern) => {
  // Column gaps depend on the headings, so compare blanks loosely.
  expect(text).toMatch(loosen(pattern));
});

test('hides the values of variables, which may be secret', () => {
  expect(text).toContain('PASSWORD (set)');
  expect(text).not.toContain('hunter2');
});

test('escapes container output that would control the terminal', () => {
  expect(text).toContain('no\\x1b[31m file');
  expect(text).not.toContain('\u001b');
});

function loosen(pattern: RegExp): RegExp {
  return new RegExp(pattern.source.replaceAll(/ \{\d+\}/g, ' +'), 'm');
}
