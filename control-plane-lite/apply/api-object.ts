/** Converts the result of a merge to an API object again. Pure. */

import { isObject } from '#api/kit/object.ts';
import { StatusError } from '#api/meta/status-error.ts';
import { type JsonObject } from '../patch/json-value.ts';
import type { ApiObject } from '../resources/contract.ts';

const isApiObject = (value: JsonObject): value is JsonObject & ApiObject =>
  typeof value['apiVersion'] === 'string' && typeof value['kind'] === 'string' && isObject(value['metadata']);

/** @throws StatusError BadRequest if apiVersion, kind or metadata is missing */
export function asApiObject(value: JsonObject): ApiObject {
  if (isApiObject(value)) return value;
  throw new StatusError('BadRequest', 'the object must have apiVersion, kind and metadata');
}
