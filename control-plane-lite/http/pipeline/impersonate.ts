/** Impersonation step: the identity that the headers request, its authorization, and the resulting user.
 *  Source: impersonation, document 2 §5.7; upstream's impersonation filter for implied groups. */
import type { IncomingHttpHeaders } from 'node:http';
import { StatusError } from '#api/meta/status-error.ts';
import { ANONYMOUS, AUTHENTICATED_GROUP, UNAUTHENTICATED_GROUP } from '../../authn/users.ts';
import type { AuthorizationAttributes } from '../../authz/contract.ts';
import type { UserInfo } from '../../resources/contract.ts';
import type { ApiRequest } from '../contract.ts';
import type { ServerRequest } from '../request/server-request.ts';
import { type Authorize, refusalOf } from './authorize.ts';

export interface ImpersonateDeps {
  /** Returns the impersonated user if the headers name one. @throws StatusError Forbidden */
  readonly impersonate?: (request: ApiRequest) => UserInfo | Promise<UserInfo>;
}

/** Sets the effective user. Fast path: most requests impersonate no user and wait for nothing here.
 *  @throws StatusError Forbidden, BadRequest */
export function impersonate(deps: ImpersonateDeps, request: ServerRequest): Promise<void> | undefined {
  const user = deps.impersonate?.(request) ?? request.user;
  if (user instanceof Promise) return setUser(request, user);
  request.user = user;
  return undefined;
}

async function setUser(request: ServerRequest, user: Promise<UserInfo>): Promise<void> {
  request.user = await user;
}

export interface ImpersonationDeps {
  readonly authorize: Authorize;
  /** Domain of the API groups in the server's vocabulary. */
  readonly domain: string;
}

/** The identity that the headers request. */
export interface Impersonated {
  readonly name: string;
  readonly uid: string;
  readonly groups: readonly string[];
  readonly extra: Readonly<Record<string, readonly string[]>>;
}

const PREFIX = 'impersonate-';
const EXTRA_PREFIX = `${PREFIX}extra-`;
const ACCOUNT_PREFIX = 'system:serviceaccount:';
const ACCOUNT_GROUP = 'system:serviceaccounts';

/** Names are UTF-8 on the wire; Node's parser decodes each byte as one character. */
const asUtf8 = (value: string): string => Buffer.from(value, 'latin1').toString('utf8');

/** Returns the values of a repeatable header. Splitting at commas is safe: each part is authorized. */
const valuesOf = (value: string | readonly string[] | undefined): readonly string[] =>
  value === undefined ? [] : (typeof value === 'string' ? value.split(', ') : value).map(asUtf8);

function decoded(name: string): string {
  try {
    return decodeURIComponent(name).toLowerCase();
  } catch {
    return name;
  }
}

/** Returns `undefined` if the request impersonates nobody. Iterates over the header names once, since every
 *  request passes here.
 *  @throws StatusError BadRequest if the headers name no user */
export function readImpersonation(headers: IncomingHttpHeaders): Impersonated | undefined {
  let found = false;
  for (const key in headers) if (key.startsWith(PREFIX)) found = true;
  if (!found) return undefined;
  const [name = ''] = valuesOf(headers[`${PREFIX}user`]);
  const groups = valuesOf(headers[`${PREFIX}group`]);
  const [uid = ''] = valuesOf(headers[`${PREFIX}uid`]);
  const extra = Object.fromEntries(
    Object.keys(headers)
      .filter((key) => key.startsWith(EXTRA_PREFIX))
      .map((key) => [decoded(key.slice(EXTRA_PREFIX.length)), valuesOf(headers[key])]),
  );
  const requested = { name, uid, groups, extra };
  if (name !== '') return requested;
  if (groups.length === 0 && uid === '' && Object.keys(extra).length === 0) return undefined;
  throw new StatusError(
    'BadRequest',
    'impersonating groups, a uid or extra values requires impersonating a user',
  );
}

interface Account {
  readonly namespace: string;
  readonly name: string;
}

function accountOf(user: string): Account | undefined {
  if (!user.startsWith(ACCOUNT_PREFIX)) return undefined;
  const [namespace = '', name = '', ...more] = user.slice(ACCOUNT_PREFIX.length).split(':');
  return namespace === '' || name === '' || more.length > 0 ? undefined : { namespace, name };
}

/** The permissions that the user needs, one after the other. */
function permissionsFor(
  { name, uid, groups, extra }: Impersonated,
  user: UserInfo,
  domain: string,
): readonly AuthorizationAttributes[] {
  const permission = (parts: Partial<AuthorizationAttributes>): AuthorizationAttributes => ({
    user,
    verb: 'impersonate',
    isResource: true,
    group: '',
    version: 'v1',
    resource: '',
    subresource: '',
    namespace: '',
    name: '',
    path: '',
    ...parts,
  });
  const account = accountOf(name);
  const group = `authentication.${domain}`;
  return [
    account === undefined
      ? permission({ resource: 'users', name })
      : permission({ resource: 'serviceaccounts', ...account }),
    ...groups.map((each) => permission({ resource: 'groups', name: each })),
    ...(uid === '' ? [] : [permission({ group, resource: 'uids', name: uid })]),
    ...Object.entries(extra).flatMap(([key, values]) =>
      values.map((value) => permission({ group, resource: 'userextras', subresource: key, name: value })),
    ),
  ];
}

/** Returns the impersonated user, with the groups implied by its identity. */
export function impersonatedUser({ name, uid, groups, extra }: Impersonated): UserInfo {
  const account = accountOf(name);
  const given =
    account !== undefined && groups.length === 0
      ? [ACCOUNT_GROUP, `${ACCOUNT_GROUP}:${account.namespace}`]
      : groups;
  const known = given.includes(AUTHENTICATED_GROUP) || given.includes(UNAUTHENTICATED_GROUP);
  const everybody = name === ANONYMOUS.name ? UNAUTHENTICATED_GROUP : AUTHENTICATED_GROUP;
  return { name, ...(uid === '' ? {} : { uid }), groups: known ? given : [...given, everybody], extra };
}

/** Creates the step that returns the effective user of a request: the authenticated one, or one that it may
 *  impersonate. */
export function createImpersonation({
  authorize,
  domain,
}: ImpersonationDeps): (request: {
  readonly headers: IncomingHttpHeaders;
  readonly user: UserInfo;
}) => UserInfo | Promise<UserInfo> {
  async function become(requested: Impersonated, user: UserInfo): Promise<UserInfo> {
    for (const attributes of permissionsFor(requested, user, domain)) {
      const { effect, reason } = await authorize(attributes);
      if (effect !== 'allow') throw refusalOf(attributes, reason);
    }
    return impersonatedUser(requested);
  }
  return ({ headers, user }) => {
    const requested = readImpersonation(headers);
    return requested === undefined ? user : become(requested, user);
  };
}
