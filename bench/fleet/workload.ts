/** Workload of the fleet: as many Deployments as are needed for the requested number of pods. */
import { FLEET_IMAGE, NEXT_IMAGE } from './hollow-agent.ts';
import type { SeenPod } from './pod-tracker.ts';
import type { ServerView } from './server-view.ts';

export const NAMESPACE = 'fleet';
export const PODS_PATH = '/api/v1/pods';
const DEPLOYMENTS = `/apis/apps/v1/namespaces/${NAMESPACE}/deployments`;

export const FIRST_REVISION = 'first';
export const NEXT_REVISION = 'next';

const template = (name: string, revision: string, image: string): object => ({
  metadata: { labels: { app: name, revision } },
  spec: {
    // Each agent would mount a file system on this machine for the token.
    automountServiceAccountToken: false,
    terminationGracePeriodSeconds: 1,
    containers: [{ name: 'main', image, resources: { requests: { cpu: '10m', memory: '10Mi' } } }],
  },
});

export const deploymentName = (index: number): string => `app-${index}`;

export async function createNamespace(server: ServerView): Promise<void> {
  await server.call('POST', '/api/v1/namespaces', { metadata: { name: NAMESPACE } });
}

export async function createDeployment(server: ServerView, index: number, replicas: number): Promise<void> {
  const name = deploymentName(index);
  await server.call('POST', DEPLOYMENTS, {
    metadata: { name },
    spec: {
      replicas,
      selector: { matchLabels: { app: name } },
      template: template(name, FIRST_REVISION, FLEET_IMAGE),
    },
  });
}

export async function updateDeployment(server: ServerView, index: number): Promise<void> {
  const name = deploymentName(index);
  await server.call('PATCH', `${DEPLOYMENTS}/${name}`, {
    spec: { template: template(name, NEXT_REVISION, NEXT_IMAGE) },
  });
}

/** Parses an event of a pod watch. @throws TypeError for anything else */
export function readPodEvent(event: unknown): SeenPod {
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the server under measurement wrote it
  const { type, object } = event as PodEvent;
  const { metadata, spec, status } = object;
  return {
    type,
    uid: metadata.uid,
    deployment: metadata.labels?.['app'] ?? '',
    revision: metadata.labels?.['revision'] ?? '',
    nodeName: spec.nodeName ?? '',
    phase: status?.phase ?? '',
    ready:
      status?.conditions?.some(({ type: name, status: is }) => name === 'Ready' && is === 'True') === true,
  };
}

interface PodEvent {
  readonly type: string;
  readonly object: {
    readonly metadata: { readonly uid: string; readonly labels?: Readonly<Record<string, string>> };
    readonly spec: { readonly nodeName?: string };
    readonly status?: {
      readonly phase?: string;
      readonly conditions?: readonly { readonly type: string; readonly status: string }[];
    };
  };
}
