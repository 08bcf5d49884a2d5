/** `/pods` and `/runningpods/`: desired pods, and pods in the runtime. */

import type { Pod } from '#api/gen/core-v1.ts';
import { StatusError } from '#api/meta/status-error.ts';
import type { ObservedContainer, ObservedSandbox } from '../../observe/types.ts';
import type { PodEntry } from '../../pods/slot.ts';
import { podObject } from '../pod-view.ts';
import type { NodeEndpoint } from './endpoint.ts';

export interface PodsDeps {
  /** Pods on this node, and those that the API server has not removed yet. */
  readonly entries: () => readonly PodEntry[];
  readonly sandboxes: () => readonly ObservedSandbox[];
  readonly containers: () => readonly ObservedContainer[];
}

/** @throws StatusError NotFound with upstream's message */
export function podByName(
  find: (namespace: string, name: string) => PodEntry | undefined,
  namespace: string,
  name: string,
): PodEntry {
  const entry = find(namespace, name);
  if (entry === undefined) throw new StatusError('NotFound', `pod ${JSON.stringify(name)} does not exist`);
  return entry;
}

/** Returns pods with running containers as the runtime reports them: only names and images. */
function runningPods(
  sandboxes: readonly ObservedSandbox[],
  containers: readonly ObservedContainer[],
): readonly Pod[] {
  const pods = new Map(sandboxes.filter(({ ready }) => ready).map((sandbox) => [sandbox.podUID, sandbox]));
  return [...pods.values()].map(({ podUID, podNamespace, podName }) => ({
    metadata: { name: podName, namespace: podNamespace, uid: podUID },
    spec: {
      containers: containers
        .filter((container) => container.podUID === podUID && container.state === 'running')
        .map(({ name, image }) => ({ name, image, resources: {} })),
    },
    status: {},
  }));
}

const listOf = (items: readonly Pod[]) => ({ kind: 'PodList', apiVersion: 'v1', metadata: {}, items });

export const podsEndpoint = ({ entries }: PodsDeps): NodeEndpoint => ({
  name: 'pods',
  methods: ['GET'],
  handle: () => ({ kind: 'json', value: listOf(entries().map(podObject)) }),
});

export const runningPodsEndpoint = ({ sandboxes, containers }: PodsDeps): NodeEndpoint => ({
  name: 'runningpods',
  methods: ['GET'],
  handle: () => ({ kind: 'json', value: listOf(runningPods(sandboxes(), containers())) }),
});
