/** Dependencies of a controller. */
import type { Clock } from '#api/kit/clock.ts';
import type { Logger } from '#api/kit/logger.ts';
import type { Vocabulary } from '#api/vocabulary.ts';
import type { Cache } from '../../cache/contract.ts';
import type { ResourceRegistry } from '../../resources/registry.ts';
import type { Verbs } from '../../verbs/contract.ts';

export interface WorkloadDeps {
  readonly registry: Pick<ResourceRegistry, 'find'>;
  readonly cache: Pick<Cache, 'resource' | 'waitForNewest'>;
  readonly verbs: Verbs;
  readonly clock: Clock;
  readonly log: Logger;
  readonly vocabulary: Vocabulary;
  /** Enabled feature gates. */
  readonly gates: ReadonlySet<string>;
}

/** Manager name for managedFields and events: all controllers are one manager, as upstream's. */
export const managerName = ({ componentPrefix }: Pick<Vocabulary, 'componentPrefix'>): string =>
  `${componentPrefix}-controller-manager`;
