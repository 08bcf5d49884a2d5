/** What a merge made, as an object of the API again. Pure. */
import { StatusError } from '#api/meta/status-error.ts';
import { isObject, type JsonObject } from '../patch/json-value.ts';
import type { ApiObject } from '../resources/contract.ts';

const isApiObject = (value: JsonObject): value is JsonObject & ApiObject =>
  typeof value['apiVersion'] === 'string' && typeof value['kind'] === 'string' && isObject(value['metadata']);

/** @throws StatusError BadRequest if it has no apiVersion, kind or metadata */
export function asApiObject(value: JsonObject): ApiObject {
  if (isApiObject(value)) return value;
  throw new StatusError('BadRequest', 'the object must have apiVersion, kind and metadata');
}
