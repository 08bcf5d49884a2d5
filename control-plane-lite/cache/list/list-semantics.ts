/** Resource version semantics: decides which state a get, list or watch shows. Pure. Source: resource
 *  versions, document 1 §4.6; rejections as in upstream. */
import type { FieldError } from '#api/meta/field-error.ts';
import { invalid } from '#api/meta/status-errors.ts';
import { decodeContinue } from './continue-token.ts';
import { badRequest } from './list-errors.ts';

/** Query parameters. An empty string is the same as an absent one. */
export interface StateRequest {
  readonly resourceVersion?: string;
  readonly resourceVersionMatch?: string;
  /** 0 and below: none. */
  readonly limit?: number;
  readonly continue?: string;
  readonly sendInitialEvents?: boolean;
}

export type Freshness =
  /** The store's current state. */
  | { readonly kind: 'newest' }
  /** Any cached state. */
  | { readonly kind: 'any' }
  /** A state not older than the revision, waited for if necessary. */
  | { readonly kind: 'notOlderThan'; readonly revision: number };

export type ListDecision =
  | Freshness
  | { readonly kind: 'exact'; readonly revision: number }
  /** The next page. Without a revision: of the newest state. */
  | { readonly kind: 'continue'; readonly revision?: number; readonly after: string };

export type WatchDecision =
  /** Starts with the state; `markInitialEnd`: followed by a bookmark that marks its end. */
  | { readonly kind: 'state'; readonly at: Freshness; readonly markInitialEnd: boolean }
  /** Only future events. */
  | { readonly kind: 'changes'; readonly at: Freshness }
  | { readonly kind: 'revision'; readonly revision: number };

type CreateFieldError = (field: string, detail: string, badValue?: string) => FieldError;

const forbidden: CreateFieldError = (field, detail) => ({ kind: 'FieldValueForbidden', field, detail });
const notSupported = (value: string, supported: readonly string[]): FieldError => ({
  kind: 'FieldValueNotSupported',
  field: MATCH,
  badValue: value,
  detail: `supported values: ${supported.map((word) => JSON.stringify(word)).join(', ')}`,
});

const MATCH = 'resourceVersionMatch';
const EXACT = 'Exact';
const NOT_OLDER = 'NotOlderThan';
const LARGEST = 2n ** 64n - 1n;

/** @throws StatusError BadRequest */
function parseRevision(text: string): number {
  if (!/^\d{1,20}$/.test(text) || BigInt(text) > LARGEST) {
    throw badRequest(
      `invalid resource version: ${JSON.stringify(text.slice(0, 100))} is not an unsigned integer`,
    );
  }
  // A larger revision can never have been reached.
  return Math.min(Number(text), Number.MAX_SAFE_INTEGER);
}

function refuse(errors: readonly FieldError[], apiGroupDomain: string): void {
  if (errors.length > 0) throw invalid({ group: `meta.${apiGroupDomain}`, name: 'ListOptions' }, '', errors);
}

function freshnessOf(resourceVersion: string): Freshness {
  if (resourceVersion === '') return { kind: 'newest' };
  const revision = parseRevision(resourceVersion);
  return revision === 0 ? { kind: 'any' } : { kind: 'notOlderThan', revision };
}

/** @throws StatusError BadRequest */
export function decideGet({ resourceVersion = '' }: Pick<StateRequest, 'resourceVersion'>): Freshness {
  return freshnessOf(resourceVersion);
}

function listErrors(request: StateRequest): readonly FieldError[] {
  const { resourceVersion = '', resourceVersionMatch: match = '', continue: token = '' } = request;
  const errors: FieldError[] = [];
  if (match !== '') {
    if (resourceVersion === '') {
      errors.push(forbidden(MATCH, `${MATCH} is forbidden unless resourceVersion is provided`));
    }
    if (token !== '') errors.push(forbidden(MATCH, `${MATCH} is forbidden when continue is provided`));
    if (match !== EXACT && match !== NOT_OLDER) errors.push(notSupported(match, [EXACT, NOT_OLDER, '']));
    if (match === EXACT && resourceVersion === '0') {
      errors.push(forbidden(MATCH, `${MATCH} "exact" is forbidden for resourceVersion "0"`));
    }
  }
  if (request.sendInitialEvents !== undefined) {
    errors.push(forbidden('sendInitialEvents', 'sendInitialEvents is forbidden for list'));
  }
  return errors;
}

/** @throws StatusError BadRequest, Invalid */
export function decideList(request: StateRequest, apiGroupDomain: string): ListDecision {
  refuse(listErrors(request), apiGroupDomain);
  const { resourceVersion = '', resourceVersionMatch: match = '', limit = 0, continue: token = '' } = request;
  if (token !== '') {
    const decoded = decodeContinue(token, apiGroupDomain);
    if (resourceVersion !== '' && resourceVersion !== '0') {
      throw badRequest('specifying resource version is not allowed when using continue');
    }
    return { kind: 'continue', ...decoded };
  }
  const freshness = freshnessOf(resourceVersion);
  // A limited list without a match is the legacy form of an exact state.
  const exact = match === EXACT || (match === '' && limit > 0);
  if (!exact || freshness.kind !== 'notOlderThan') return freshness;
  return { kind: 'exact', revision: freshness.revision };
}

function watchErrors(request: StateRequest): readonly FieldError[] {
  const { resourceVersionMatch: match = '', sendInitialEvents, continue: token = '' } = request;
  const errors: FieldError[] = [];
  if (sendInitialEvents !== undefined && match !== NOT_OLDER) {
    errors.push(forbidden(MATCH, `sendInitialEvents requires setting ${MATCH} to ${NOT_OLDER}`));
  }
  if (match === '') return errors;
  if (sendInitialEvents === undefined) {
    errors.push(forbidden(MATCH, `${MATCH} is forbidden for watch unless sendInitialEvents is provided`));
  }
  if (match !== NOT_OLDER) errors.push(notSupported(match, [NOT_OLDER]));
  if (token !== '') errors.push(forbidden(MATCH, `${MATCH} is forbidden when continue is provided`));
  return errors;
}

/** @throws StatusError BadRequest, Invalid */
export function decideWatch(
  request: StateRequest & { readonly allowWatchBookmarks?: boolean },
  apiGroupDomain: string,
): WatchDecision {
  refuse(watchErrors(request), apiGroupDomain);
  const at = freshnessOf(request.resourceVersion ?? '');
  const { sendInitialEvents, allowWatchBookmarks = false } = request;
  if (sendInitialEvents === true) return { kind: 'state', at, markInitialEnd: allowWatchBookmarks };
  if (at.kind === 'notOlderThan') return { kind: 'revision', revision: at.revision };
  return sendInitialEvents === false ? { kind: 'changes', at } : { kind: 'state', at, markInitialEnd: false };
}
