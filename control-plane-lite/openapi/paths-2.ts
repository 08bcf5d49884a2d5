/** Paths of a document of OpenAPI 2. Pure. */
import type { Vocabulary } from '#api/vocabulary.ts';
import { OPENAPI_2, type SchemaObject } from './dialect.ts';
import { patchTypes, responseDescription, responseTypes } from './media-types.ts';
import type { Operation, PathItem } from './operations.ts';
import { PARAMETERS } from './parameters.ts';

/** Returns the complete parameter object. */
export function parameter2(name: string): SchemaObject {
  const known = PARAMETERS.get(name);
  const { type = 'string', description = '' } = known ?? {};
  const place = known?.in ?? 'query';
  return {
    name,
    in: place,
    type,
    description,
    ...(place === 'path' ? { required: true } : { uniqueItems: true }),
  };
}

const referred = (name: string): SchemaObject => ({ $ref: `#/parameters/${name}` });

/** Clients expect the parameters of patches in the operation itself. */
const parametersOf = ({ action, parameters }: Operation): readonly SchemaObject[] =>
  parameters.map(action === 'patch' ? parameter2 : referred);

function bodyParameter({ body, action }: Operation): readonly SchemaObject[] {
  if (body === undefined) return [];
  const optional = action === 'delete' || action === 'deletecollection';
  return [{ name: 'body', in: 'body', ...(optional ? {} : { required: true }), schema: OPENAPI_2.ref(body) }];
}

function operation2(operation: Operation, vocabulary: Vocabulary): SchemaObject {
  const { id, tag, description, action, kind, response, codes } = operation;
  const prefix = vocabulary.schemaExtensionPrefix;
  const schema = response === undefined ? { type: 'string' } : OPENAPI_2.ref(response);
  const parameters = [...bodyParameter(operation), ...parametersOf(operation)];
  return {
    operationId: id,
    tags: [tag],
    description,
    ...(action === 'patch' ? { consumes: patchTypes(operation) } : {}),
    ...(operation.custom ? { produces: responseTypes(vocabulary, operation) } : {}),
    ...(parameters.length === 0 ? {} : { parameters }),
    responses: Object.fromEntries(
      codes.map((code) => [String(code), { description: responseDescription(code), schema }]),
    ),
    [`${prefix}action`]: action,
    [`${prefix}group-version-kind`]: kind,
  };
}

export function pathItem2({ parameters, operations }: PathItem, vocabulary: Vocabulary): SchemaObject {
  const made = operations.map((operation) => [operation.method, operation2(operation, vocabulary)] as const);
  return { ...Object.fromEntries(made), parameters: [...parameters, 'pretty'].map(referred) };
}
