/** Reads requests for resources: the caller, the object, and the query parameters. Every error is a StatusError that
 *  names the parameter. Source: query parameters, document 1 §4.3 and §4.8. */

import { type Int64, int64Of, parseInt64 } from '#api/kit/int64.ts';
import type { FieldError } from '#api/meta/field-error.ts';
import { type FieldRequirement, parseFieldSelector } from '#api/meta/field-selectors.ts';
import { parseLabelSelector, type Requirement, SelectorError } from '#api/meta/selectors.ts';
import { StatusError } from '#api/meta/status-error.ts';
import { invalid } from '#api/meta/status-errors.ts';
import type { ApiRequest } from '../http/contract.ts';
import type { Resource, UserInfo } from '../resources/contract.ts';
import type { Caller, ObjectRef } from '../verbs/contract.ts';

export type FieldValidation = 'Ignore' | 'Warn' | 'Strict';

export interface WriteQuery {
  readonly dryRun: boolean;
  readonly fieldManager: string;
  readonly fieldValidation: FieldValidation;
}

const MAX_MANAGER_BYTES = 128;
const MAX_SELECTOR_LENGTH = 16_384;

const META_GROUP_SUBJECT = { group: 'meta', name: '' };

function reject(kind: string, error: FieldError): never {
  throw invalid({ ...META_GROUP_SUBJECT, name: kind }, '', [error]);
}

/** `true`, `1` and a bare parameter are true. @throws StatusError BadRequest */
export function booleanParameter(query: URLSearchParams, name: string): boolean {
  const text = query.get(name);
  if (text === null || text === 'false' || text === '0' || text === 'False' || text === 'FALSE') return false;
  if (text === '' || text === 'true' || text === '1' || text === 'True' || text === 'TRUE') return true;
  throw new StatusError('BadRequest', `query parameter ${name}: ${JSON.stringify(text)} is not a boolean`);
}

/** Returns an integer, or undefined if the parameter is absent or empty. @throws StatusError BadRequest */
export function integerParameter(query: URLSearchParams, name: string): Int64 | undefined {
  const text = query.get(name);
  if (text === null || text === '') return undefined;
  const value = parseInt64(text);
  if (value === undefined) {
    throw new StatusError(
      'BadRequest',
      `query parameter ${name}: ${JSON.stringify(text)} is not a whole number`,
    );
  }
  return int64Of(value);
}

/** Larger than any list. */
const LARGEST_LIMIT = 2 ** 31 - 1;

/** Returns the page size; 0 and below: unlimited. @throws StatusError BadRequest */
export function limitParameter(query: URLSearchParams): number | undefined {
  const limit = integerParameter(query, 'limit');
  return limit === undefined ? undefined : Number(limit > LARGEST_LIMIT ? LARGEST_LIMIT : limit);
}

/** `All` is a dry run; a bare parameter allows side effects. @throws StatusError Invalid */
export function parseDryRun(values: readonly string[], kind: string): boolean {
  const bad = values.find((value) => value !== '' && value !== 'All');
  if (bad !== undefined) {
    reject(kind, {
      kind: 'FieldValueNotSupported',
      field: 'dryRun',
      badValue: bad,
      detail: 'supported values: "All"',
    });
  }
  return values.includes('All');
}

/** Returns the field manager: the client's parameter, else derived from its user agent.
 *  @throws StatusError Invalid */
export function parseFieldManager(
  query: URLSearchParams,
  userAgent: string | undefined,
  kind: string,
): string {
  const given = query.get('fieldManager') ?? '';
  if (given === '') return managerOf(userAgent);
  const error = { kind: 'FieldValueInvalid', field: 'fieldManager', badValue: given } as const;
  if (Buffer.byteLength(given) > MAX_MANAGER_BYTES) {
    reject(kind, { ...error, detail: `must not be more than ${MAX_MANAGER_BYTES} bytes long` });
  }
  if (!/^[\p{L}\p{M}\p{N}\p{P}\p{S} ]+$/u.test(given)) {
    reject(kind, { ...error, detail: 'may contain printable characters only' });
  }
  return given;
}

function managerOf(userAgent = ''): string {
  const [product = ''] = userAgent.split('/');
  const printable = product.replaceAll(/[^\p{L}\p{M}\p{N}\p{P}\p{S} ]/gu, '');
  return printable === '' ? 'unknown' : printable.slice(0, MAX_MANAGER_BYTES);
}

/** @throws StatusError Invalid */
export function parseFieldValidation(query: URLSearchParams, kind: string): FieldValidation {
  const text = query.get('fieldValidation') ?? '';
  if (text === '') return 'Warn';
  if (text === 'Ignore' || text === 'Warn' || text === 'Strict') return text;
  return reject(kind, {
    kind: 'FieldValueNotSupported',
    field: 'fieldValidation',
    badValue: text,
    detail: 'supported values: "Ignore", "Warn", "Strict"',
  });
}

/** Returns the options common to all writes. `kind` is the options' kind, such as `CreateOptions`, for
 *  errors. */
export function parseWriteQuery(
  query: URLSearchParams,
  userAgent: string | undefined,
  kind: string,
): WriteQuery {
  return {
    dryRun: parseDryRun(query.getAll('dryRun'), kind),
    fieldManager: parseFieldManager(query, userAgent, kind),
    fieldValidation: parseFieldValidation(query, kind),
  };
}

/** @throws StatusError BadRequest */
export function parseSelectors(query: URLSearchParams): {
  readonly labels: readonly Requirement[];
  readonly fields: readonly FieldRequirement[];
} {
  const labels = query.get('labelSelector') ?? '';
  const fields = query.get('fieldSelector') ?? '';
  if (labels.length > MAX_SELECTOR_LENGTH || fields.length > MAX_SELECTOR_LENGTH) {
    throw new StatusError(
      'BadRequest',
      `a selector must not be longer than ${MAX_SELECTOR_LENGTH} characters`,
    );
  }
  try {
    return {
      labels: labels === '' ? [] : parseLabelSelector(labels),
      fields: fields === '' ? [] : parseFieldSelector(fields),
    };
  } catch (thrown) {
    if (thrown instanceof SelectorError) {
      throw new StatusError('BadRequest', `unable to parse requirement: ${thrown.message}`, {
        cause: thrown,
      });
    }
    throw thrown;
  }
}

/** A class for its getter: the signal is created on first use, which is rare. */
class RequestCaller implements Caller {
  readonly #request: ApiRequest;
  readonly user: UserInfo;

  constructor(request: ApiRequest) {
    this.#request = request;
    this.user = request.user;
  }

  get signal(): AbortSignal {
    return this.#request.signal;
  }

  warn(text: string): void {
    this.#request.warn(text);
  }

  annotate(key: string, value: string): void {
    this.#request.annotate(key, value);
  }
}

export const callerOf = (request: ApiRequest): Caller => new RequestCaller(request);

/** The path of a namespace contains a namespace for authorization; the object itself has none. */
export const refOf = ({ info }: ApiRequest, resource: Resource): ObjectRef => ({
  resource,
  namespace: resource.info.namespaced ? info.namespace : '',
  name: info.name,
});
