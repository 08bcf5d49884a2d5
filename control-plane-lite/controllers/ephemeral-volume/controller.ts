/** Makes the claims of pods' ephemeral volumes. They go with their pods: those own them. */
import { copyJson } from '#api/codec/copy-json.ts';
import { asError } from '#api/kit/clock.ts';
import { StatusError } from '#api/meta/status-error.ts';
import type { Pod } from '#api/schema/gen/core-v1.ts';
import type { ResourceCache, WatchHandle } from '../../cache/contract.ts';
import type { ApiObject, Resource } from '../../resources/contract.ts';
import { typed } from '../../resources/view.ts';
import { controllerReference } from '../workloads-kit/claim.ts';
import { findResource, type WorkloadDeps } from '../workloads-kit/deps.ts';
import { createHands, type Hands } from '../workloads-kit/family.ts';
import { isNamespaceEnding } from '../workloads-kit/pod-writer.ts';
import { createKeyLoop, type KeyLoop } from '../workloads-kit/run-keys.ts';
import { decideEphemeral, type EphemeralVolume, ephemeralVolumes } from './decide.ts';

interface Parts {
  readonly deps: WorkloadDeps;
  readonly hands: Hands;
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
  const { hands, claims } = parts;
  const claim = claimFor(parts, pod, volume);
  const { name = '', namespace = '' } = claim.metadata;
  const options = { dryRun: false, fieldManager: hands.fieldManager };
  await hands.verbs.create({ resource: claims, namespace, name }, claim, options, hands.caller);
}

function tell({ hands }: Parts, pod: ApiObject, { name }: EphemeralVolume, message: string): void {
  hands.events.record(pod, 'Warning', 'FailedBinding', `ephemeral volume ${name}: ${message}`);
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
      // Somebody was faster: the next look tells whose it is.
      if (thrown instanceof StatusError && thrown.reason === 'AlreadyExists') return 0;
      tell(parts, pod, action.volume, `create PVC ${action.volume.claimName}: ${asError(thrown).message}`);
      throw thrown;
    }
  }
  return undefined;
}

/** Pods with such volumes are due when they come, and when one of their claims goes. */
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

/** Works until the signal fires. */
export async function runEphemeralVolumes(deps: WorkloadDeps, signal: AbortSignal): Promise<void> {
  const pods = findResource(deps, 'v1', 'pods');
  const claims = findResource(deps, 'v1', 'persistentvolumeclaims');
  if (pods === undefined || claims === undefined) return;
  const hands = createHands(deps, 'ephemeral_volume', signal);
  const loop = createKeyLoop(deps, (key) => visit(parts, key));
  const parts: Parts = { deps, hands, pods, claims, loop };
  const { cache } = deps;
  await loop.run(
    signal,
    ...follow(cache.resource(pods.storage), cache.resource(claims.storage), (key) => loop.due(key)),
  );
}
