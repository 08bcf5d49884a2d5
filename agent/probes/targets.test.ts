import { expect, test } from 'vitest';
import type { Pod } from '#api/gen/core-v1.ts';
import type { ObservedContainer, PodObservation } from '../observe/types.ts';
import { probeTargets } from './targets.ts';

const readinessProbe = { tcpSocket: { port: 80 } };
const POD: Pod = {
  metadata: { uid: 'u1' },
  spec: {
    initContainers: [
      { name: 'side', readinessProbe, restartPolicy: 'Always' },
      { name: 'once', readinessProbe },
    ],
    containers: [{ name: 'app', readinessProbe }, { name: 'plain' }],
  },
};

const observed = (id: string, name: string, state: ObservedContainer['state']): ObservedContainer => ({
  id,
  name,
  state,
  podUID: 'u1',
  sandboxId: 's1',
  kind: 'app',
  attempt: 0,
  createdAtMs: 1,
  startedAtMs: 2,
  finishedAtMs: 0,
  exitCode: 0,
  reason: '',
  message: '',
  image: '',
  imageID: '',
  hash: '',
  fallsBackToLogs: false,
});

const observation = (...containers: ObservedContainer[]): PodObservation => ({
  containers,
  sandboxes: [
    {
      id: 's1',
      podUID: 'u1',
      podNamespace: '',
      podName: '',
      attempt: 0,
      ready: true,
      createdAtMs: 0,
      ips: ['10.1.0.7'],
    },
  ],
});

test('returns the running app containers and sidecars with probes', () => {
  const seen = observation(
    observed('c4', 'plain', 'running'),
    observed('c3', 'app', 'running'),
    observed('c2', 'once', 'running'),
    observed('c1', 'side', 'running'),
  );
  const { podIP, containers } = probeTargets(POD, seen, '192.0.2.1');
  expect(podIP).toBe('10.1.0.7');
  expect(containers).toMatchObject([
    { containerId: 'c1', container: { name: 'side' }, startedAtMs: 2 },
    { containerId: 'c3', container: { name: 'app' } },
  ]);
});

test('omits a container whose newest instance does not run', () => {
  const seen = observation(observed('c2', 'app', 'created'), observed('c1', 'app', 'running'));
  expect(probeTargets(POD, seen, '').containers).toEqual([]);
});

test('uses the address of the node with host networking', () => {
  const pod = { ...POD, spec: { containers: [], hostNetwork: true } };
  expect(probeTargets(pod, observation(), '192.0.2.1').podIP).toBe('192.0.2.1');
  expect(probeTargets(POD, { sandboxes: [], containers: [] }, '192.0.2.1').podIP).toBe('');
});
