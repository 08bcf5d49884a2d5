/** Options of a connect subresource of a pod, a node or a service: an object parsed from the request's query
 *  and passed through admission, which may change it; the connection uses the result. Pure.
 *  Source: upstream's PodExecOptions and its siblings; operation CONNECT, document 2 §2.6. */
import { StatusError } from '#api/meta/status-error.ts';
import { type JsonField, jsonFields } from '#api/schema/registry.ts';
import type { ApiObject } from '../resources/contract.ts';

/** The parsed options of a connect request. */
export interface ConnectRequest {
  readonly query: URLSearchParams;
  /** Path after the subresource, decoded; empty or starting with a slash. */
  readonly path: string;
}

/** The field that contains the rest of the path. */
const PATH = 'path';

/** Upstream's conversion of a boolean query parameter: true if present and not an explicit false. */
export function isOn(query: URLSearchParams, key: string): boolean {
  const value = query.get(key);
  return value !== null && value !== '0' && value.toLowerCase() !== 'false';
}

const fieldsOf = (kind: string): readonly JsonField[] =>
  jsonFields({ packageName: 'core/v1', typeName: kind }).filter(({ json }) => json !== 'metadata');

/** @throws StatusError BadRequest */
function numbersOf(query: URLSearchParams, key: string): readonly number[] {
  const texts = query.getAll(key).flatMap((text) => text.split(','));
  const bad = texts.find((text) => !/^-?\d{1,9}$/.test(text));
  if (bad === undefined) return texts.map(Number);
  throw new StatusError('BadRequest', `${key}: ${JSON.stringify(bad)} is not a whole number`);
}

/** Returns the value of a field; `undefined` if the request omits it.
 *  @throws StatusError BadRequest */
function valueOf({ json, type }: JsonField, { query, path }: ConnectRequest): unknown {
  if (json === PATH) return path === '' ? undefined : path;
  switch (type) {
    case 'bool':
      return isOn(query, json) ? true : undefined;
    case '[]string':
      return query.getAll(json);
    case '[]int32': {
      const numbers = numbersOf(query, json);
      return numbers.length === 0 ? undefined : numbers;
    }
    default: {
      const text = query.get(json) ?? '';
      return text === '' ? undefined : text;
    }
  }
}

/** Returns the options of a kind such as `PodExecOptions` as an object.
 *  @throws StatusError BadRequest if the query has an invalid value */
export function connectOptions(kind: string, request: ConnectRequest): ApiObject {
  const options: ApiObject = { apiVersion: 'v1', kind, metadata: {} };
  for (const field of fieldsOf(kind)) {
    const value = valueOf(field, request);
    if (value !== undefined) options[field.json] = value;
  }
  return options;
}

/** Returns the connect request that the options describe. */
export function connectRequestOf(options: ApiObject): ConnectRequest {
  const query = new URLSearchParams();
  for (const { json } of fieldsOf(options.kind)) {
    const value = options[json];
    for (const each of Array.isArray(value) ? value : [value]) {
      const isText = typeof each === 'string' || typeof each === 'number' || each === true;
      if (json !== PATH && isText) query.append(json, String(each));
    }
  }
  const path = options[PATH];
  return { query, path: typeof path === 'string' ? path : '' };
}
