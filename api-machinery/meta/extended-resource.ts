/** Names of extended resources, which device plugins provide. Pure. Source: upstream's `IsExtendedResourceName`, release 1.24. */
import { qualifiedNameErrors } from './names.ts';

const QUOTA_PREFIX = 'requests.';

/** Reports whether the name is that of an extended resource.
 *  @param domain of the vocabulary, whose names belong to the platform */
export function isExtendedResource(name: string, domain: string): boolean {
  if (!name.includes('/') || name.includes(`${domain}/`) || name.startsWith(QUOTA_PREFIX)) return false;
  return qualifiedNameErrors(QUOTA_PREFIX + name).length === 0;
}
