/** Expansion of claims' volumes on the node: at setup, and while pods use them. */
import { asError } from '#api/kit/errno.ts';
import { createKeyedQueue } from '#api/kit/keyed-queue.ts';
import type { Logger } from '#api/kit/logger.ts';
import { value } from '#api/meta/quantity.ts';
import {
  type ClaimInUse,
  type Expander,
  type Expansion,
  ExpansionRefusedError,
  type ExpansionReports,
} from '../contract/expansion.ts';
import { decideExpansion, mayHaveGrown } from './decide.ts';

export interface ExpanderDeps {
  readonly reports: ExpansionReports;
  readonly log: Logger;
}

type State = Pick<ClaimInUse, 'claim' | 'volume'>;

export function createExpander({ reports, log }: ExpanderDeps): Expander {
  /** One expansion at a time per volume, across all pods that use it. */
  const queue = createKeyedQueue();

  async function grow(use: ClaimInUse, expansion: Expansion, signal: AbortSignal): Promise<void> {
    const { size, volume, claim } = expansion;
    await reports.begun(expansion, signal);
    const sizeBeforeBytes = value(claim.status?.capacity?.['storage'] ?? '0');
    await use.expand({ size, sizeBytes: value(size), sizeBeforeBytes, signal });
    log.info({ persistentVolume: volume.metadata?.name, size }, 'Volume expanded');
    await reports.finished(expansion, signal).catch((thrown: unknown) => {
      signal.throwIfAborted();
      // The next check finds the claim unchanged, and reports again.
      log.warn({ err: asError(thrown) }, 'Failed to report volume expansion');
    });
  }

  /** @returns whether to retry later */
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

      async function check(signal: AbortSignal): Promise<void> {
        const claim = await objects.getPersistentVolumeClaim(namespace, claimName);
        if (claim === undefined || claim.metadata?.uid !== use.claim.metadata?.uid || !mayHaveGrown(claim))
          return;
        const volume = await objects.getPersistentVolume(name);
        if (volume !== undefined) goesOn = await step(use, { claim, volume }, true, signal);
      }

      return async (signal) => {
        if (!goesOn) return;
        try {
          await queue.run(name, () => check(signal));
        } catch (thrown) {
          signal.throwIfAborted();
          log.debug({ err: asError(thrown), persistentVolume: name }, 'Failed to expand volume; retrying');
        }
      };
    },
  };
}
