/** Claims of ephemeral volumes for pods without an API server, where no controller creates them: the agent
 *  creates each on first use, binds it to a free PersistentVolume of the manifests, persists the binding, and
 *  releases it when the pod is deleted. */

import type {
  PersistentVolume,
  PersistentVolumeClaim,
  PersistentVolumeClaimTemplate,
  Pod,
} from '#api/gen/core-v1.ts';
import { createLimiter } from '#api/kit/limiter.ts';
import type { Logger } from '#api/kit/logger.ts';
import type { ObjectReader } from '#api/schema/object-reader.ts';
import { createClaimLeases } from './claim-leases.ts';
import { matchVolume } from './claim-match.ts';
import type { ObjectStore } from './store.ts';

export interface EphemeralClaimsDeps {
  readonly objects: Pick<ObjectStore, 'list'> & ObjectReader;
  readonly rootDir: string;
  readonly log: Logger;
}

export interface EphemeralClaims {
  /** Returns the objects of the manifests, and the claims of the pod. */
  readerFor(pod: Pod): ObjectReader;
  /** Releases the bindings of the pod. */
  release(podUID: string): Promise<void>;
}

/** No free volume of the manifests matches. */
class UnboundClaimError extends Error {
  readonly reason = 'FailedBinding';

  constructor(claim: string, why: string) {
    super(`no PersistentVolume of the manifests matches claim ${claim}: ${why}`);
    this.name = 'UnboundClaimError';
  }
}

/** Returns the volume claim template of the pod for a claim name. */
function templateOf({ metadata, spec }: Pod, claimName: string): PersistentVolumeClaimTemplate | undefined {
  const found = spec?.volumes?.find(
    ({ name, ephemeral }) => ephemeral !== undefined && `${metadata?.name}-${name}` === claimName,
  );
  return found?.ephemeral?.volumeClaimTemplate;
}

function claimFrom(
  pod: Pod,
  { namespace, name }: { readonly namespace: string; readonly name: string },
  { metadata, spec }: PersistentVolumeClaimTemplate,
): PersistentVolumeClaim {
  const { name: podName = '', uid = '' } = pod.metadata ?? {};
  const owner = { apiVersion: 'v1', kind: 'Pod', name: podName, uid, controller: true };
  const { labels = {}, annotations = {} } = metadata ?? {};
  return { metadata: { name, namespace, labels, annotations, ownerReferences: [owner] }, spec };
}

/** Volumes of the manifests, and those bound by claims of manifests. */
function volumesOf(objects: EphemeralClaimsDeps['objects']): {
  readonly volumes: readonly PersistentVolume[];
  readonly claimed: readonly string[];
} {
  const volumes: PersistentVolume[] = [];
  const claimed: string[] = [];
  for (const object of objects.list()) {
    if (object.kind === 'PersistentVolume') volumes.push(object);
    if (object.kind === 'PersistentVolumeClaim') claimed.push(object.spec?.volumeName ?? '');
  }
  return { volumes, claimed };
}

export function createEphemeralClaims({ objects, rootDir, log }: EphemeralClaimsDeps): EphemeralClaims {
  const turns = createLimiter(1);
  const leases = createClaimLeases({ rootDir, log });

  async function bind(
    pod: Pod,
    namespace: string,
    name: string,
    template: PersistentVolumeClaimTemplate,
  ): Promise<PersistentVolumeClaim> {
    const podUID = pod.metadata?.uid ?? '';
    const known = await leases.load();
    const claim = claimFrom(pod, { namespace, name }, template);
    const boundTo = (volumeName: string): PersistentVolumeClaim => ({
      ...claim,
      spec: { ...claim.spec, volumeName },
    });
    const mine = known.find((lease) => lease.podUID === podUID && lease.claimName === name);
    if (mine !== undefined) return boundTo(mine.volumeName);
    const { volumes, claimed } = volumesOf(objects);
    const names = new Set([...claimed, ...known.map(({ volumeName }) => volumeName)]);
    const match = matchVolume(claim, volumes, { names });
    if (match.kind === 'none') throw new UnboundClaimError(`${namespace}/${name}`, match.why);
    await leases.save([...known, { podUID, namespace, claimName: name, volumeName: match.name }]);
    log.info({ podUID, pod: pod.metadata?.name, claim: name, volume: match.name }, 'Claim bound');
    return boundTo(match.name);
  }

  return {
    readerFor(pod) {
      const isUser = (pod.spec?.volumes ?? []).some(({ ephemeral }) => ephemeral !== undefined);
      if (!isUser) return objects;
      return {
        ...objects,
        async getPersistentVolumeClaim(namespace, name) {
          const template = templateOf(pod, name);
          // A manifest claim with that name takes precedence: rejecting it is left to its user.
          const written = await objects.getPersistentVolumeClaim(namespace, name);
          if (template === undefined || written !== undefined) return written;
          return turns.run(() => bind(pod, namespace, name, template));
        },
      };
    },
    release: (podUID) =>
      turns.run(async () => {
        const known = await leases.load();
        const others = known.filter((lease) => lease.podUID !== podUID);
        if (others.length < known.length) await leases.save(others);
      }),
  };
}
