/** Deployments and ReplicaSets for tests. */
import { VOCABULARIES } from '#api/vocabulary.ts';
import {
  type DeploymentFacts,
  type DeploymentNames,
  deploymentNames,
  HASH_LABEL,
  type ReplicaSetFacts,
} from './model.ts';

export const NAMES: DeploymentNames = deploymentNames(VOCABULARIES.plat);

type Template = DeploymentFacts['template'];

export const templateOf = (image: string, labels: Readonly<Record<string, string>> = {}): Template => ({
  metadata: { labels: { app: 'web', ...labels } },
  spec: { containers: [{ name: 'main', image }] },
});

/** Four pods of version `v2`; one more and one less are allowed. */
export const deploymentOf = (changes: Partial<DeploymentFacts> = {}): DeploymentFacts => ({
  name: 'web',
  namespace: 'ns',
  generation: 1,
  annotations: {},
  deleting: false,
  replicas: 4,
  recreate: false,
  maxSurge: 1,
  maxUnavailable: 1,
  selector: { matchLabels: { app: 'web' } },
  template: templateOf('v2'),
  minReadySeconds: 0,
  paused: false,
  progressDeadlineMs: 600_000,
  revisionHistoryLimit: 10,
  status: {},
  ...changes,
});

/** A ReplicaSet with all of its pods available. */
export function setOf(
  image: string,
  replicas: number,
  changes: Partial<ReplicaSetFacts> & { readonly revision?: number; readonly desired?: number } = {},
): ReplicaSetFacts {
  const { revision = 1, desired = 4, ...rest } = changes;
  return {
    name: `web-${image}`,
    uid: `uid-${image}`,
    createdMs: revision * 1000,
    deleting: false,
    annotations: {
      [NAMES.revision]: String(revision),
      [NAMES.desired]: String(desired),
      [NAMES.max]: String(desired + 1),
    },
    replicas,
    minReadySeconds: 0,
    template: templateOf(image, { [HASH_LABEL]: image }),
    selector: { matchLabels: { app: 'web', [HASH_LABEL]: image } },
    observed: true,
    actual: replicas,
    ready: replicas,
    available: replicas,
    ...rest,
  };
}
