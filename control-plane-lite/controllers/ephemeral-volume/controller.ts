/** Creates the claims of pods' ephemeral volumes. Claims are owned by their pods and deleted with them. */
import { copyJson } from '#api/codec/copy-json.ts';
import type { Pod } from '#api/gen/core-v1.ts';
import { asError } from '#api/kit/clock.ts';
import { StatusError } from '#api/meta/status-error.ts';
import type { ResourceCache, WatchHandle } from '../../cache/contract.ts';
import type { ApiObject, Resource } from '../../resources/contract.ts';
import { typed } from '../../resources/view.ts';
import { controllerReference } from '../workloads-kit/claim.ts';
import { type ControllerClient, createControllerClient } from '../workloads-kit/controller-base.ts';
import { findResource, type WorkloadDeps } from '../workloads-kit/deps.ts';
import { isNamespaceEnding } from '../workloads-kit/namespace-ending.ts';
import { createKeyLoop, type KeyLoop } from '../workloads-kit/run-keys.ts';
import { decideEphemeral, type EphemeralVolume, ephemeralVolumes } from './decide.ts';

interface Parts {
  readonly deps: WorkloadDeps;
  readonly client: ControllerClient;
  readonly pods: Resource;
  readonly claims: Resource;
  readonly loop: KeyLoop;
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

function tell({ client }: Parts, pod: ApiObject, { name }: EphemeralVolume, message: string): void {
  client.events.record(pod, 'Warning', 'FailedBinding', `ephemeral volume ${name}: ${message}`);
}

async function visit(parts: Parts, key: string): Promise<number | undefined> {
  const { deps, pods, claims, loop } = parts;
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
      tell(parts, pod, action.volume, action.message);
      continue;
    }
    loop.expect(key);
    try {
      await createClaim(parts, pod, action.volume);
    } catch (thrown) {
      if (isNamespaceEnding(thrown)) return undefined;
      // Another client was faster: the next reconciliation checks the owner.
      if (thrown instanceof StatusError && thrown.reason === 'AlreadyExists') return 0;
      tell(parts, pod, action.volume, `create PVC ${action.volume.claimName}: ${asError(thrown).message}`);
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

/** Runs until the signal is aborted. */
export async function runEphemeralVolumes(deps: WorkloadDeps, signal: AbortSignal): Promise<void> {
  const pods = findResource(deps, 'v1', 'pods');
  const claims = findResource(deps, 'v1', 'persistentvolumeclaims');
  if (pods === undefined || claims === undefined) return;
  const client = createControllerClient(deps, 'ephemeral_volume', signal);
  const loop = createKeyLoop(deps, (key) => visit(parts, key));
  const parts: Parts = { deps, client, pods, claims, loop };
  const { cache } = deps;
  await loop.run(
    signal,
    ...follow(cache.resource(pods.storage), cache.resource(claims.storage), (key) => loop.due(key)),
  );
}
