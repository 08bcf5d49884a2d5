/** Built-in users and groups. Source: built-in identities, document 2 §5.2 and §5.6. */
import type { UserInfo } from '../resources/contract.ts';

export const AUTHENTICATED_GROUP = 'system:authenticated';
export const UNAUTHENTICATED_GROUP = 'system:unauthenticated';
export const MASTERS_GROUP = 'system:masters';

export const ANONYMOUS: UserInfo = {
  name: 'system:anonymous',
  groups: [UNAUTHENTICATED_GROUP],
  extra: {},
};

/** The server as its own client. */
export const SERVER: UserInfo = {
  name: 'system:apiserver',
  groups: [MASTERS_GROUP, AUTHENTICATED_GROUP],
  extra: {},
};

const PART_PREFIX = 'system:apiserver:';

/** Whether the user is a component of the server. */
export const isServerUser = ({ name, groups }: UserInfo): boolean =>
  name.startsWith(PART_PREFIX) && groups.includes(MASTERS_GROUP);

/** Returns the user of a component of the server. */
export const serverUser = (part: string): UserInfo => ({
  name: `${PART_PREFIX}${part}`,
  groups: [MASTERS_GROUP, AUTHENTICATED_GROUP],
  extra: {},
});

/** Returns the user as a member of the group of authenticated users. */
export function authenticated(user: UserInfo): UserInfo {
  return user.groups.includes(AUTHENTICATED_GROUP)
    ? user
    : { ...user, groups: [...user.groups, AUTHENTICATED_GROUP] };
}
