/** Dependencies of the bootstrap token controllers. */
import type { Clock } from '#api/kit/clock.ts';
import type { Logger } from '#api/kit/logger.ts';
import type { Vocabulary } from '#api/vocabulary.ts';
import { BOOTSTRAP_SECRET_PREFIX } from '../../authn/bootstrap-secret.ts';
import type { Cache, CachedObject } from '../../cache/contract.ts';
import type { ResourceRegistry } from '../../resources/registry.ts';
import type { Verbs } from '../../verbs/contract.ts';

export interface BootstrapControllerDeps {
  readonly registry: Pick<ResourceRegistry, 'find'>;
  readonly cache: Cache;
  readonly verbs: Verbs;
  readonly clock: Clock;
  readonly log: Logger;
  readonly vocabulary: Vocabulary;
}

/** Reports whether a Secret has the name of a bootstrap token Secret. */
export const isNamedAsToken = (
  { namespace, name }: Pick<CachedObject, 'namespace' | 'name'>,
  { systemNamespace }: Vocabulary,
): boolean => namespace === systemNamespace && name.startsWith(BOOTSTRAP_SECRET_PREFIX);
