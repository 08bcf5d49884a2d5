/** `serviceaccounts/<name>/token`: issues a time-limited token for the account, optionally bound to a pod or
 *  a secret. Stores nothing. Source: service account tokens, document 2 §5.2; upstream's TokenRequest,
 *  release 1.24. */
import type { BoundObjectReference, TokenRequest } from '#api/gen/authentication-v1.ts';
import type { Pod } from '#api/gen/core-v1.ts';
import type { Int64 } from '#api/kit/int64.ts';
import type { FieldError } from '#api/meta/field-error.ts';
import { StatusError } from '#api/meta/status-error.ts';
import { invalid, notFound } from '#api/meta/status-errors.ts';
import { formatTime } from '#api/meta/time.ts';
import { createFieldErrors } from '#api/schema/validation/field-errors.ts';
import type { BoundObject } from '../authn/service-account/claims.ts';
import type { TokenIssuer } from '../authn/service-account/issuer.ts';
import type { ApiRequest, ApiResponse } from '../http/contract.ts';
import type { ApiObject, Resource } from '../resources/contract.ts';
import { typed } from '../resources/view.ts';
import type { BodyTarget } from './content.ts';
import type { EndpointDeps } from './deps.ts';
import { callerOf, parseWriteQuery } from './read-request.ts';

export interface AccountTokenEndpoint {
  readonly issuer: TokenIssuer;
  readonly limits: TokenLimits;
  /** The request body. */
  readonly target: BodyTarget;
}

export interface TokenLimits {
  /** Longest validity, in seconds; 0: unlimited. */
  readonly maxSeconds: number;
  /** Extends the tokens that admission adds to pods: clients that read a token only once keep working. */
  readonly extend: boolean;
}

const MIN_SECONDS = 600;
const MAX_SECONDS = 2 ** 32;
const DEFAULT_SECONDS = 3600;
/** Validity that admission requests for the token of a pod, and the extended one. Source: upstream. */
const POD_TOKEN_SECONDS = 3607;
const EXTENDED_SECONDS = 365 * 24 * 60 * 60;
const PLURALS = { Pod: 'pods', Secret: 'secrets' } as const;

/** @throws StatusError NotFound without the account or the bound object; Invalid, Conflict */
export async function accountTokenEndpoint(
  deps: EndpointDeps,
  request: ApiRequest,
  accounts: Resource,
  { issuer, target, limits }: AccountTokenEndpoint,
): Promise<ApiResponse> {
  const { namespace, name } = request.info;
  const query = parseWriteQuery(request.query, request.headers['user-agent'], 'CreateOptions');
  const body = await deps.content.readObject(request, target, query.fieldValidation);
  await deps.cache.waitForNewest();
  const account = existing(deps, accounts, namespace, name);
  await deps.verbs.admit({
    ref: { resource: accounts, namespace, name },
    draft: body,
    dryRun: query.dryRun,
    operation: 'CREATE',
    subresource: 'token',
    schema: target.schema,
    caller: callerOf(request),
  });
  const { spec = {} } = typed<{ readonly spec?: Partial<TokenRequest['spec']> }>(body);
  const { expirationSeconds = DEFAULT_SECONDS, boundObjectRef, audiences: requestedAudiences = [] } = spec;
  const audiences = requestedAudiences.length === 0 ? issuer.audiences : requestedAudiences;
  const errors = errorsOf(expirationSeconds, boundObjectRef);
  if (errors.length > 0) throw invalid(subjectOf(target), '', errors);
  const bound = boundObjectRef === undefined ? undefined : boundTo(deps, namespace, name, boundObjectRef);
  const subject = { namespace, account: { name, uid: account.metadata.uid ?? '' }, bound };
  const nowMs = deps.clock.now();
  const requested = Number(expirationSeconds);
  const seconds = shortened(requested, limits, request);
  const extended = isExtended(seconds, bound, audiences, { issuer, limits });
  const { token } = await issuer.issue(
    subject,
    audiences,
    extended ? { nowMs, seconds: EXTENDED_SECONDS, warnAfterSeconds: seconds } : { nowMs, seconds },
  );
  return deps.content.plain(request, 201, {
    ...body,
    metadata: { name, namespace, creationTimestamp: formatTime(nowMs) },
    spec: { ...spec, audiences, expirationSeconds: seconds === requested ? expirationSeconds : seconds },
    // The requested time: clients renew the token before it, although it is valid for longer.
    status: { token, expirationTimestamp: formatTime((Math.floor(nowMs / 1000) + seconds) * 1000) },
  });
}

function shortened(seconds: number, { maxSeconds }: TokenLimits, request: ApiRequest): number {
  if (maxSeconds === 0 || seconds <= maxSeconds) return seconds;
  request.warn(`requested expiration of ${seconds} seconds shortened to ${maxSeconds} seconds`);
  return maxSeconds;
}

function isExtended(
  seconds: number,
  bound: BoundObject | undefined,
  audiences: readonly string[],
  { issuer, limits }: Pick<AccountTokenEndpoint, 'issuer' | 'limits'>,
): boolean {
  return (
    limits.extend &&
    bound?.kind === 'Pod' &&
    seconds === POD_TOKEN_SECONDS &&
    audiences.every((audience) => issuer.audiences.includes(audience))
  );
}

const subjectOf = ({ apiVersion, kind }: BodyTarget): { group: string; name: string } => ({
  group: apiVersion.slice(0, Math.max(0, apiVersion.indexOf('/'))),
  name: kind,
});

/** Returns the newest state of an object. @throws StatusError NotFound */
function existing({ cache }: EndpointDeps, resource: Resource, namespace: string, name: string): ApiObject {
  const object = cache.resource(resource.storage).get(`${namespace}/${name}`)?.object();
  if (object === undefined) throw notFound({ group: resource.info.group, name: resource.info.plural }, name);
  return object;
}

function errorsOf(seconds: Int64, reference: BoundObjectReference | undefined): readonly FieldError[] {
  const errors = createFieldErrors();
  const path = 'spec.expirationSeconds';
  if (seconds < MIN_SECONDS) errors.invalid(path, seconds, 'may not specify a duration less than 10 minutes');
  if (seconds > MAX_SECONDS)
    errors.invalid(path, seconds, 'may not specify a duration larger than 2^32 seconds');
  if (reference !== undefined && kindOf(reference) === undefined) {
    const given = `${reference.apiVersion ?? ''} ${reference.kind ?? ''}`;
    errors.invalid('spec.boundObjectRef', given, 'must be a Pod or a Secret of v1');
  }
  return errors.all;
}

function kindOf({ apiVersion, kind }: BoundObjectReference): BoundObject['kind'] | undefined {
  return apiVersion === 'v1' && (kind === 'Pod' || kind === 'Secret') ? kind : undefined;
}

/** @throws StatusError NotFound; Conflict if the UID differs; BadRequest for a pod that runs with another
 *  account */
function boundTo(
  deps: EndpointDeps,
  namespace: string,
  account: string,
  reference: BoundObjectReference,
): BoundObject {
  const kind = kindOf(reference) ?? 'Pod';
  const { name = '', uid: wanted = '' } = reference;
  const resource = deps.registry.find('', 'v1', PLURALS[kind]);
  if (resource === undefined) throw notFound({ group: '', name: PLURALS[kind] }, name);
  const object = existing(deps, resource, namespace, name);
  const { uid = '' } = object.metadata;
  if (wanted !== '' && wanted !== uid) {
    throw new StatusError(
      'Conflict',
      `Operation cannot be fulfilled on ${PLURALS[kind]} ${JSON.stringify(name)}: the UID in the bound object reference (${wanted}) does not match the UID in record. The object might have been deleted and then recreated`,
      { details: { name, kind: PLURALS[kind] } },
    );
  }
  const runsAs = kind === 'Pod' ? (typed<Pod>(object).spec?.serviceAccountName ?? '') : account;
  if (runsAs !== account) {
    throw new StatusError(
      'BadRequest',
      `cannot bind token for serviceaccount ${JSON.stringify(account)} to pod running with different serviceaccount name ${JSON.stringify(runsAs)}.`,
    );
  }
  return { kind, name, uid };
}
