/** Responses of the agent as objects, validated against the schema. */

import type { Event, Pod } from '#api/gen/core-v1.ts';
import { isObject } from '#api/kit/object.ts';
import type { LastingWait } from '#api/kit/waits.ts';
import type { FieldError } from '#api/meta/field-error.ts';
import { decode } from '#api/schema/decode.ts';
import { ApiError, type LocalApi } from './api-client.ts';

/** A newer agent may send fields that this program does not know. */
const LENIENT = { unknownFields: 'ignore', missingFields: 'ignore' } as const;

export type PlainObject = Readonly<Record<string, unknown>>;

export const textMember = (object: PlainObject, key: string): string => {
  const value = object[key];
  return typeof value === 'string' ? value : '';
};

export function listMember(response: unknown, key: string): readonly unknown[] {
  const list = isObject(response) ? response[key] : undefined;
  if (Array.isArray(list)) return list;
  throw new ApiError(200, 'BadResponse', `the response of the agent has no list ${key}`);
}

export const readPod = (value: unknown): Pod => decode<Pod>('core/v1.Pod', value, LENIENT).value;
export const readEvent = (value: unknown): Event => decode<Event>('core/v1.Event', value, LENIENT).value;

/** All pods of the agent, by namespace and name. @throws AgentUnreachableError, ApiError */
export async function fetchPods(api: LocalApi): Promise<readonly Pod[]> {
  return listMember(await api.json({ path: ['pods'] }), 'items').map(readPod);
}

export interface EventQuery {
  readonly kind?: string | undefined;
  readonly namespace?: string | undefined;
  readonly name?: string | undefined;
  readonly uid?: string | undefined;
}

/** Events, the one last seen last. @throws AgentUnreachableError, ApiError */
export async function fetchEvents(api: LocalApi, query: EventQuery): Promise<readonly Event[]> {
  return listMember(await api.json({ path: ['events'], query: { ...query } }), 'items').map(readEvent);
}

/** Returns what the agent is waiting for; empty for an older agent, which does not report it.
 *  @throws AgentUnreachableError, ApiError */
export async function fetchWaits(api: LocalApi): Promise<readonly LastingWait[]> {
  try {
    return listMember(await api.json({ path: ['waits'] }), 'items')
      .filter(isObject)
      .map((wait) => ({
        what: textMember(wait, 'what'),
        sinceMs: typeof wait['sinceMs'] === 'number' ? wait['sinceMs'] : 0,
        why: textMember(wait, 'why'),
      }));
  } catch (thrown) {
    if (thrown instanceof ApiError && thrown.status === 404) return [];
    throw thrown;
  }
}

/** Location from which a manifest was read. */
export interface ShownOrigin {
  readonly source: string;
  readonly location: string;
  readonly document: string;
}

export interface ManifestProblem {
  readonly origin: ShownOrigin;
  readonly identity: string;
  readonly errors: readonly FieldError[];
}

export interface ManifestConflict {
  readonly identity: string;
  readonly winner: ShownOrigin;
  readonly loser: ShownOrigin;
}

export interface ManifestProblems {
  readonly rejected: readonly ManifestProblem[];
  readonly conflicts: readonly ManifestConflict[];
}

/** Returns rejected manifests and conflicts of the sources. @throws AgentUnreachableError, ApiError */
export async function fetchProblems(api: LocalApi): Promise<ManifestProblems> {
  const response = await api.json({ path: ['manifests', 'problems'] });
  return {
    rejected: listMember(response, 'rejected').filter(isObject).map(readProblem),
    conflicts: listMember(response, 'conflicts')
      .filter(isObject)
      .map((conflict) => ({
        identity: textMember(conflict, 'identity'),
        winner: readOrigin(conflict['winner']),
        loser: readOrigin(conflict['loser']),
      })),
  };
}

function readProblem(problem: PlainObject): ManifestProblem {
  return {
    origin: readOrigin(problem['origin']),
    identity: textMember(problem, 'identity'),
    errors: readFieldErrors(problem['errors']),
  };
}

function readOrigin(value: unknown): ShownOrigin {
  const origin = isObject(value) ? value : {};
  return {
    source: textMember(origin, 'source'),
    location: textMember(origin, 'location'),
    document: textMember(origin, 'document'),
  };
}

const ERROR_KINDS: ReadonlySet<string> = new Set<FieldError['kind']>([
  'FieldValueRequired',
  'FieldValueInvalid',
  'FieldValueNotSupported',
  'FieldValueDuplicate',
  'FieldValueForbidden',
  'FieldValueTypeInvalid',
  'FieldValueTooLong',
  'FieldValueTooMany',
  'FieldValueNotFound',
  'FieldUnknown',
]);
const isErrorKind = (text: string): text is FieldError['kind'] => ERROR_KINDS.has(text);

/** Returns the field errors of a list; skips elements that are not field errors. */
export function readFieldErrors(value: unknown): readonly FieldError[] {
  if (!Array.isArray(value)) return [];
  return value.filter(isObject).map((error) => {
    const kind = textMember(error, 'kind');
    const { badValue } = error;
    return {
      kind: isErrorKind(kind) ? kind : 'FieldValueInvalid',
      field: textMember(error, 'field'),
      detail: textMember(error, 'detail'),
      ...(badValue === undefined ? {} : { badValue }),
    };
  });
}
