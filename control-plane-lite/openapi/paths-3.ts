/** Paths of a document of OpenAPI 3. Pure. */
import type { Vocabulary } from '#api/vocabulary.ts';
import { OPENAPI_3, type SchemaObject } from './dialect.ts';
import { patchTypes, responseDescription, responseTypes } from './media-types.ts';
import type { Operation, PathItem } from './operations.ts';
import { PARAMETERS } from './parameters.ts';

function parameter3(name: string): SchemaObject {
  const known = PARAMETERS.get(name);
  const { type = 'string', description = '' } = known ?? {};
  const place = known?.in ?? 'query';
  return {
    name,
    in: place,
    description,
    ...(place === 'path' ? { required: true } : {}),
    schema: { type, ...(place === 'query' ? { uniqueItems: true } : {}) },
  };
}

const content = (types: readonly string[], schema: SchemaObject): SchemaObject => ({
  content: Object.fromEntries(types.map((type) => [type, { schema }])),
});

function requestBody(operation: Operation): SchemaObject {
  const { body, action } = operation;
  if (body === undefined) return {};
  const types = action === 'patch' ? patchTypes(operation) : ['*/*'];
  const optional = action === 'delete' || action === 'deletecollection';
  return { requestBody: { ...content(types, OPENAPI_3.ref(body)), ...(optional ? {} : { required: true }) } };
}

function operation3(operation: Operation, vocabulary: Vocabulary): SchemaObject {
  const { id, tag, description, action, kind, response, codes, parameters } = operation;
  const prefix = vocabulary.schemaExtensionPrefix;
  const responseContent =
    response === undefined
      ? content(['*/*'], { type: 'string' })
      : content(responseTypes(vocabulary, operation), OPENAPI_3.ref(response));
  return {
    operationId: id,
    tags: [tag],
    description,
    ...(parameters.length === 0 ? {} : { parameters: parameters.map(parameter3) }),
    ...requestBody(operation),
    responses: Object.fromEntries(
      codes.map((code) => [String(code), { description: responseDescription(code), ...responseContent }]),
    ),
    [`${prefix}action`]: action,
    [`${prefix}group-version-kind`]: kind,
  };
}

export function pathItem3({ parameters, operations }: PathItem, vocabulary: Vocabulary): SchemaObject {
  const made = operations.map((operation) => [operation.method, operation3(operation, vocabulary)] as const);
  return { ...Object.fromEntries(made), parameters: [...parameters, 'pretty'].map(parameter3) };
}
