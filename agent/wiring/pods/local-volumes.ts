/** Wires volumes on the disk of the node: their store, and the claims of manifests that get them. */
import type { Pod } from '#api/gen/core-v1.ts';
import type { ObjectReader } from '#api/schema/object-reader.ts';
import type { LocalVolumes } from '#volumes/contract/local-volumes.ts';
import { createMounter } from '#volumes/mount/mounter.ts';
import type { RunProgram } from '#volumes/programs/contract.ts';
import { createLocalVolumes } from '#volumes/provisioned/volumes.ts';
import { createRecordFiles } from '#volumes/staging/record-files.ts';
import { createEphemeralClaims } from '../../objects/ephemeral-claims.ts';
import { claimNames } from '../../objects/local-claim.ts';
import { createLocalClaims } from '../../objects/local-claims.ts';
import type { ObjectStore } from '../../objects/store.ts';
import type { SourceManager } from '../../sources/manager.ts';
import type { Base } from '../base.ts';

export interface ClaimSubsystem {
  readonly localVolumes: LocalVolumes;
  /** Objects of a pod of the manifests. */
  readonly readerFor: (pod: Pod) => ObjectReader;
  /** The pod was deleted, with its directory. */
  readonly release: (podUID: string) => Promise<void>;
  /** Removes volumes of claims that the manifests no longer contain. */
  readonly follow: (sources: Pick<SourceManager, 'onChange' | 'current'>) => void;
}

export function createClaimSubsystem(
  { config: { rootDir }, log, vocabulary }: Base,
  objects: ObjectStore,
  run: RunProgram,
): ClaimSubsystem {
  const ephemeral = createEphemeralClaims({ objects, rootDir, log });
  const localVolumes = createLocalVolumes({
    rootDir,
    log,
    run,
    files: createRecordFiles(),
    mounter: createMounter(),
    paths: { dev: '/dev', sys: '/sys' },
  });
  const claims = createLocalClaims({ objects, volumes: localVolumes, names: claimNames(vocabulary), log });
  /** Claims of sources that were not read yet are unknown, not removed. */
  let isComplete = (): boolean => false;
  const collect = async (): Promise<void> => {
    if (isComplete()) await claims.collect();
  };
  return {
    localVolumes,
    readerFor: (pod) => claims.reader(ephemeral.readerFor(pod)),
    async release(podUID) {
      await ephemeral.release(podUID);
      await collect();
    },
    follow(sources) {
      isComplete = () => sources.current().complete;
      sources.onChange(() => void collect());
    },
  };
}
