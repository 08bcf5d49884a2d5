/** Lets the volumes of claims grow on the node: as a pod gets them, and while it has them. */
import { asError } from '#api/kit/clock.ts';
import { createKeyedQueue } from '#api/kit/keyed-queue.ts';
import type { Logger } from '#api/kit/logger.ts';
import { value } from '#api/meta/quantity.ts';
import type { PersistentVolume, PersistentVolumeClaim, Pod } from '#api/schema/gen/core-v1.ts';
import type { ObjectReader } from '#api/schema/object-reader.ts';
import { type Expand, type Expansion, ExpansionRefusedError, type ExpansionReports } from './contract.ts';
import { decideExpansion, mayHaveGrown } from './decide.ts';

/** A claim's volume in a pod that has it mounted. */
export interface ClaimInUse {
  readonly pod: Pod;
  readonly claim: PersistentVolumeClaim;
  readonly volume: PersistentVolume;
  readonly readOnly: boolean;
  readonly expand: Expand;
}

export interface Expander {
  /** To be called when the volume is ready and before the pod has it.
   *  @returns what looks after it while the pod has it, which rejects with the signal's reason alone
   *  @throws what the volume throws that has to grow first */
  follow(
    use: ClaimInUse,
    objects: Pick<ObjectReader, 'getPersistentVolumeClaim' | 'getPersistentVolume'>,
    signal: AbortSignal,
  ): Promise<(signal: AbortSignal) => Promise<void>>;
}

export interface ExpanderDeps {
  readonly reports: ExpansionReports;
  readonly log: Logger;
}

type State = Pick<ClaimInUse, 'claim' | 'volume'>;

export function createExpander({ reports, log }: ExpanderDeps): Expander {
  /** Of all pods that have a volume, one at a time lets it grow. */
  const queue = createKeyedQueue();

  async function grow(use: ClaimInUse, expansion: Expansion, signal: AbortSignal): Promise<void> {
    const { size, volume, claim } = expansion;
    await reports.begun(expansion, signal);
    const sizeBeforeBytes = value(claim.status?.capacity?.['storage'] ?? '0');
    await use.expand({ size, sizeBytes: value(size), sizeBeforeBytes, signal });
    log.info({ persistentVolume: volume.metadata?.name, size }, 'Volume grew');
    await reports.finished(expansion, signal).catch((thrown: unknown) => {
      signal.throwIfAborted();
      // The next look finds the claim as it was, and tells again.
      log.warn({ err: asError(thrown) }, 'Growth of a volume could not be told');
    });
  }

  /** @returns whether it is to be tried again some time */
  async function step(use: ClaimInUse, state: State, inUse: boolean, signal: AbortSignal): Promise<boolean> {
    const plan = decideExpansion({ ...state, readOnly: use.readOnly });
    if (plan.kind === 'none') return true;
    const expansion = { pod: use.pod, ...state, size: plan.size };
    if (plan.kind === 'readOnly') {
      reports.readOnly(expansion);
      return false;
    }
    try {
      await grow(use, expansion, signal);
      return true;
    } catch (thrown) {
      signal.throwIfAborted();
      const isRefused = thrown instanceof ExpansionRefusedError;
      reports.failed(expansion, asError(thrown), inUse || isRefused);
      if (isRefused) return false;
      throw thrown;
    }
  }

  return {
    async follow(use, objects, begin) {
      const name = use.volume.metadata?.name ?? '';
      const { namespace = '', name: claimName = '' } = use.claim.metadata ?? {};
      let goesOn = await queue.run(name, () => step(use, use, false, begin));

      async function look(signal: AbortSignal): Promise<void> {
        const claim = await objects.getPersistentVolumeClaim(namespace, claimName);
        if (claim === undefined || claim.metadata?.uid !== use.claim.metadata?.uid || !mayHaveGrown(claim))
          return;
        const volume = await objects.getPersistentVolume(name);
        if (volume !== undefined) goesOn = await step(use, { claim, volume }, true, signal);
      }

      return async (signal) => {
        if (!goesOn) return;
        try {
          await queue.run(name, () => look(signal));
        } catch (thrown) {
          signal.throwIfAborted();
          log.debug({ err: asError(thrown), persistentVolume: name }, 'Volume did not grow, trying again');
        }
      };
    },
  };
}
