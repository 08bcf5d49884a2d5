/** Names of resources that plugins may have. Pure. Source: upstream's `IsExtendedResourceName`, release 1.24. */
import { qualifiedNameFaults } from '#api/meta/names.ts';

const QUOTA_PREFIX = 'requests.';

/** Whether it is no resource of the platform itself.
 *  @param domain of the vocabulary, whose names are the platform's */
export function isExtendedResource(name: string, domain: string): boolean {
  if (!name.includes('/') || name.includes(`${domain}/`) || name.startsWith(QUOTA_PREFIX)) return false;
  return qualifiedNameFaults(QUOTA_PREFIX + name).length === 0;
}
