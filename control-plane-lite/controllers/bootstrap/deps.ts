/** Names of bootstrap token Secrets. */
import type { Vocabulary } from '#api/vocabulary.ts';
import { BOOTSTRAP_SECRET_PREFIX } from '../../authn/bootstrap-secret.ts';
import type { CachedObject } from '../../cache/contract.ts';

/** Reports whether a Secret has the name of a bootstrap token Secret. */
export const isNamedAsToken = (
  { namespace, name }: Pick<CachedObject, 'namespace' | 'name'>,
  { systemNamespace }: Vocabulary,
): boolean => namespace === systemNamespace && name.startsWith(BOOTSTRAP_SECRET_PREFIX);
