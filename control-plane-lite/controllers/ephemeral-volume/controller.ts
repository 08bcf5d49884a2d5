/** Creates the claims of pods' ephemeral volumes. Claims are owned by their pods and deleted with them. */

import { copyJson } from '#api/codec/copy-json.ts';
import type { Pod } from '#api/gen/core-v1.ts';
import { asError } from '#api/kit/errno.ts';
import { StatusError } from '#api/meta/status-error.ts';
import type { ResourceCache, WatchHandle } from '../../cache/contract.ts';
import type { ApiObject, Resource } from '../../resources/contract.ts';
import { typed } from '../../resources/view.ts';
import { type Controller, defineController } from '../skeleton/declaration.ts';
import { controllerReference } from '../workloads-kit/claim.ts';
import type { ControllerClient } from '../workloads-kit/controller-base.ts';
import type { WorkloadDeps } from '../workloads-kit/deps.ts';
import { isNamespaceEnding } from '../workloads-kit/namespace-ending.ts';
import type { KeyQueue } from '../workloads-kit/run-keys.ts';
import { decideEphemeral, type EphemeralVolume, ephemeralVolumes } from './decide.ts';

interface Parts {
  readonly deps: WorkloadDeps;
  readonly client: ControllerClient;
  readonly pods: Resource;
  readonly claims: Resource;
  readonly queue: KeyQueue;
}

function claimFor({ pods, claims }: Parts, pod: ApiObject, volume: EphemeralVolume): ApiObject {
  const { metadata: { labels, annotations } = {}, spec } = volume.template;
  const claim: ApiObject = {
    apiVersion: 'v1',
    kind: claims.info.kind,
    metadata: {
      name: volume.claimName,
      namespace: pod.metadata.namespace ?? '',
      ...(labels === undefined ? {} : { labels: { ...labels } }),
      ...(annotations === undefined ? {} : { annotations: { ...annotations } }),
      ownerReferences: [controllerReference(pods, pod)],
    },
    spec: copyJson(spec),
  };
  claims.schema.applyDefaults(claim);
  return claim;
}

/** @throws StatusError */
async function createClaim(parts: Parts, pod: ApiObject, volume: EphemeralVolume): Promise<void> {
  const { client, claims } = parts;
  const claim = claimFor(parts, pod, volume);
  const { name = '', namespace = '' } = claim.metadata;
  const options = { dryRun: false, fieldManager: client.fieldManager };
  await client.verbs.create({
    ...options,
    ref: { resource: claims, namespace, name },
    object: claim,
    caller: client.caller,
  });
}

function recordFailure({ client }: Parts, pod: ApiObject, { name }: EphemeralVolume, message: string): void {
  client.events.record(pod, 'Warning', 'FailedBinding', `ephemeral volume ${name}: ${message}`);
}

async function reconcile(parts: Parts, key: string): Promise<number | undefined> {
  const { deps, pods, claims, queue } = parts;
  const pod = deps.cache.resource(pods.storage).get(key)?.object();
  if (pod === undefined) return undefined;
  const known = deps.cache.resource(claims.storage);
  const { namespace = '' } = pod.metadata;
  const actions = decideEphemeral(
    typed<Pod>(pod),
    (name) => known.get(`${namespace}/${name}`)?.object().metadata,
  );
  for (const action of actions) {
    if (action.kind === 'blocked') {
      recordFailure(parts, pod, action.volume, action.message);
      continue;
    }
    queue.expect(key);
    try {
      await createClaim(parts, pod, action.volume);
    } catch (thrown) {
      if (isNamespaceEnding(thrown)) return undefined;
      // Another client was faster: the next reconciliation checks the owner.
      if (thrown instanceof StatusError && thrown.reason === 'AlreadyExists') return 0;
      recordFailure(
        parts,
        pod,
        action.volume,
        `create PVC ${action.volume.claimName}: ${asError(thrown).message}`,
      );
      throw thrown;
    }
  }
  return undefined;
}

/** Queues pods with such volumes when they are created, and when one of their claims is deleted. */
function follow(
  pods: Pick<ResourceCache, 'follow'>,
  claims: Pick<ResourceCache, 'follow'>,
  due: (key: string) => void,
): readonly WatchHandle[] {
  const podOfClaim = new Map<string, string>();
  return [
    pods.follow(({ type, current }) => {
      const volumes = ephemeralVolumes(typed<Pod>(current.object()));
      for (const { claimName } of volumes) {
        const key = `${current.namespace}/${claimName}`;
        if (type === 'DELETED') podOfClaim.delete(key);
        else podOfClaim.set(key, current.key);
      }
      if (volumes.length > 0 && type !== 'DELETED') due(current.key);
    }),
    claims.follow(({ type, current }) => {
      const pod = type === 'DELETED' ? podOfClaim.get(current.key) : undefined;
      if (pod !== undefined) due(pod);
    }),
  ];
}

export const ephemeralVolumeController: Controller = defineController({
  name: 'ephemeral-volume',
  identity: 'ephemeral_volume',
  watches: ['pods', 'persistentvolumeclaims'],
  writes: { persistentvolumeclaims: { create: true } },
  recordsEvents: true,
  start(context) {
    const { client, queue } = context;
    const parts: Parts = {
      deps: context,
      client,
      pods: context.resourceOf('pods'),
      claims: context.resourceOf('persistentvolumeclaims'),
      queue,
    };
    return {
      reconcile: (key) => reconcile(parts, key),
      follows: follow(context.cacheOf('pods'), context.cacheOf('persistentvolumeclaims'), (key) =>
        queue.add(key),
      ),
    };
  },
});
