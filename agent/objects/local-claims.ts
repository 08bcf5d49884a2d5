/** Volumes for claims of manifests, in place of a provisioner: a claim that names no volume gets one on the disk of
 *  the node. A volume that is no longer claimed is removed if its claim says so, or if no pod has ever used it. */
import type { PersistentVolume, PersistentVolumeClaim } from '#api/gen/core-v1.ts';
import { asError } from '#api/kit/errno.ts';
import { createLimiter } from '#api/kit/limiter.ts';
import type { Logger } from '#api/kit/logger.ts';
import type { ObjectReader } from '#api/schema/object-reader.ts';
import type { LocalVolumes } from '#volumes/contract/local-volumes.ts';
import type { ConfigObject } from '../sources/types.ts';
import { type ClaimNames, decideLocalClaim, localVolumeName, persistentVolumeOf } from './local-claim.ts';

export interface LocalClaimsDeps {
  readonly objects: { readonly list: () => readonly ConfigObject[] };
  readonly volumes: Pick<LocalVolumes, 'create' | 'get' | 'list' | 'remove'>;
  readonly names: ClaimNames;
  readonly log: Logger;
}

export interface LocalClaims {
  /** Returns the objects of the reader, with claims bound to local volumes, and these volumes. */
  reader(inner: ObjectReader): ObjectReader;
  /** Removes volumes without claims. Never rejects. Call it only while all manifests are known. */
  collect(): Promise<void>;
}

export function createLocalClaims({ objects, volumes, names, log }: LocalClaimsDeps): LocalClaims {
  /** A creation runs to its end even if its pod is deleted: the volume belongs to the claim. */
  const { signal } = new AbortController();
  const turns = createLimiter(1);

  const written = (): readonly PersistentVolume[] =>
    objects.list().flatMap((object) => (object.kind === 'PersistentVolume' ? [object] : []));

  async function bound(claim: PersistentVolumeClaim): Promise<PersistentVolumeClaim> {
    const decision = decideLocalClaim(claim, written(), names);
    if (decision.kind === 'none') return claim;
    const volumeName =
      decision.kind === 'volume' ? decision.name : (await volumes.create(decision.spec, signal)).name;
    return { ...claim, spec: { ...claim.spec, volumeName } };
  }

  async function collectNow(): Promise<void> {
    const claimed = new Set(
      objects
        .list()
        .flatMap((object) => (object.kind === 'PersistentVolumeClaim' ? [localVolumeName(object)] : [])),
    );
    for (const { name, owner, reclaimPolicy, used } of await volumes.list()) {
      const isLeft = owner === 'manifest' && !claimed.has(name);
      // A volume that a pod has stays; the deletion of the pod is the next occasion.
      if (isLeft && (reclaimPolicy === 'Delete' || !used)) await volumes.remove(name, signal);
    }
  }

  return {
    reader: (inner) => ({
      ...inner,
      async getPersistentVolumeClaim(namespace, name) {
        const claim = await inner.getPersistentVolumeClaim(namespace, name);
        return claim === undefined ? undefined : bound(claim);
      },
      async getPersistentVolume(name) {
        const found = await inner.getPersistentVolume(name);
        if (found !== undefined) return found;
        const volume = await volumes.get(name).catch(() => undefined);
        return volume?.owner === 'manifest' ? persistentVolumeOf(volume) : undefined;
      },
    }),
    collect: () =>
      turns.run(async () => {
        try {
          await collectNow();
        } catch (thrown) {
          log.warn({ err: asError(thrown) }, 'Failed to remove local volumes without claims');
        }
      }),
  };
}
