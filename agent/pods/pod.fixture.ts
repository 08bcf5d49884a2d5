/** One pod and its observed state, for tests that vary a detail of either. */
import type { Container, Pod } from '#api/gen/core-v1.ts';
import type { ObservedContainer, ObservedSandbox, PodObservation } from '../observe/types.ts';
import type { DecideInput, PodAction, PodProgress } from './decide/decision-types.ts';

export const NOW_MS = 1_700_000_000_000;

export function testPod(spec: Partial<NonNullable<Pod['spec']>> = {}): Pod {
  const containers: readonly Container[] = [{ name: 'a', image: 'i' }];
  return {
    metadata: { name: 'web', namespace: 'default', uid: 'u1' },
    spec: { containers, ...spec },
  };
}

export const sandbox = (change: Partial<ObservedSandbox> = {}): ObservedSandbox => ({
  id: 's1',
  podUID: 'u1',
  podNamespace: 'default',
  podName: 'web',
  attempt: 0,
  ready: true,
  createdAtMs: NOW_MS - 60_000,
  ips: ['10.0.0.2'],
  ...change,
});

export const container = (name: string, change: Partial<ObservedContainer> = {}): ObservedContainer => ({
  id: `${name}-${change.attempt ?? 0}`,
  podUID: 'u1',
  sandboxId: 's1',
  name,
  kind: 'app',
  attempt: 0,
  state: 'running',
  createdAtMs: NOW_MS - 50_000,
  startedAtMs: NOW_MS - 50_000,
  finishedAtMs: 0,
  exitCode: 0,
  reason: '',
  message: '',
  image: 'docker.io/library/i:latest',
  imageID: 'sha256:1',
  hash: 'h',
  fallsBackToLogs: false,
  ...change,
});

/** A container that exited a second ago. */
export const ended = (
  name: string,
  exitCode = 0,
  change: Partial<ObservedContainer> = {},
): ObservedContainer =>
  container(name, { state: 'exited', exitCode, finishedAtMs: NOW_MS - 1000, ...change });

export const observation = (
  sandboxes: readonly ObservedSandbox[],
  ...containers: readonly ObservedContainer[]
): PodObservation => ({ sandboxes, containers });

export const progress = (change: Partial<PodProgress> = {}): PodProgress => ({
  busy: new Set(),
  volumes: 'mounted',
  retryAtMs: new Map(),
  stoppedSandboxes: new Set(),
  containers: new Map(),
  attempts: new Map(),
  probes: new Map(),
  terminal: undefined,
  startedAtMs: NOW_MS - 60_000,
  ...change,
});

export const decideInput = (change: Partial<DecideInput> = {}): DecideInput => ({
  pod: testPod(),
  intent: { kind: 'run' },
  observed: observation([sandbox()], container('a')),
  progress: progress(),
  keepTerminatedVolumes: false,
  nowMs: NOW_MS,
  ...change,
});

/** Textual form of an action: `startContainer a#1`, `killContainer a-0`, `stopSandbox s1`, `mountVolumes`. */
export function actionText(action: PodAction): string {
  switch (action.kind) {
    case 'startContainer':
      return `${action.kind} ${action.spec.name}#${action.attempt}`;
    case 'killContainer':
      return `${action.kind} ${action.container.id} ${action.reason} ${action.gracePeriodSeconds}s`;
    case 'removeContainer':
      return `${action.kind} ${action.container.id}`;
    case 'createSandbox':
      return `${action.kind} #${action.attempt}`;
    case 'stopSandbox':
      return `${action.kind} ${action.sandboxId}`;
    case 'finish':
      return `${action.kind} ${action.phase} ${action.reason}`.trimEnd();
    case 'mountVolumes':
    case 'unmountVolumes':
    case 'removePod':
      return action.kind;
    default:
      return action satisfies never;
  }
}
