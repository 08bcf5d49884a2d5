/** The protobuf form is read back by another codec, and says what the JSON form says. */
import { parse } from 'protobufjs';
import { describe, expect, test } from 'vitest';
import { isObject, textOf } from '#api/kit/object.ts';
import { VOCABULARIES } from '#api/vocabulary.ts';
import { type Outline, outline2 } from './documents.ts';
import { at, builtin, described, documentOf, type Json } from './openapi.fixture.ts';
import { protobufPieces } from './protobuf-pieces.ts';

/** The inspected fields of the messages, with gnostic's numbers. */
const MESSAGES = `
  syntax = "proto3";
  message Any { string yaml = 2; }
  message NamedAny { string name = 1; Any value = 2; }
  message TypeItem { repeated string value = 1; }
  message ItemsItem { repeated Schema schema = 1; }
  message NamedSchema { string name = 1; Schema value = 2; }
  message Properties { repeated NamedSchema list = 1; }
  message AdditionalItem { Schema schema = 1; bool boolean = 2; }
  message Schema {
    string ref = 1; string format = 2; string description = 4; Any default = 5; double minimum = 9;
    repeated string required = 19; repeated Any enum = 20; AdditionalItem additional = 21; TypeItem type = 22;
    ItemsItem items = 23; Properties properties = 25; repeated NamedAny extension = 31;
  }
  message BodyParameter { string name = 2; string in = 3; bool required = 4; Schema schema = 5; }
  message QueryParameter { string in = 2; string name = 4; string type = 6; bool unique = 20; }
  message PathParameter { bool required = 1; string in = 2; string name = 4; string type = 5; }
  message NonBody { QueryParameter query = 3; PathParameter path = 4; }
  message Parameter { BodyParameter body = 1; NonBody other = 2; }
  message Reference { string ref = 1; }
  message ParameterItem { Parameter parameter = 1; Reference reference = 2; }
  message SchemaItem { Schema schema = 1; }
  message Response { string description = 1; SchemaItem schema = 2; }
  message ResponseValue { Response response = 1; }
  message NamedResponse { string name = 1; ResponseValue value = 2; }
  message Responses { repeated NamedResponse list = 1; }
  message Operation {
    repeated string tags = 1; string description = 3; string id = 5; repeated string consumes = 7;
    repeated ParameterItem parameters = 8; Responses responses = 9; repeated NamedAny extension = 13;
  }
  message PathItem {
    Operation get = 2; Operation put = 3; Operation post = 4; Operation delete = 5; Operation options = 6;
    Operation head = 7; Operation patch = 8; repeated ParameterItem parameters = 9;
  }
  message NamedPathItem { string name = 1; PathItem value = 2; }
  message Paths { repeated NamedPathItem list = 2; }
  message Info { string title = 1; string version = 2; }
  message NamedParameter { string name = 1; Parameter value = 2; }
  message Parameters { repeated NamedParameter list = 1; }
  message Document {
    string swagger = 1; Info info = 2; repeated string schemes = 5; Paths paths = 8; Properties definitions = 9;
    Parameters parameters = 10;
  }
`;

function readBack(outline: Outline): Json {
  const type = parse(MESSAGES, { keepCase: true }).root.lookupType('Document');
  return type.toObject(type.decode(Buffer.concat([...protobufPieces(outline)])), { enums: String });
}

const list = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : []);
const yaml = (value: unknown): unknown => JSON.parse(textOf(at(value)['yaml']));

/** `{list: [{name, value}]}` or that list as an object. */
function named(value: unknown, make: (item: unknown) => unknown): Json {
  const items = list(isObject(value) ? value['list'] : value);
  return Object.fromEntries(items.map((item) => [textOf(at(item)['name']), make(at(item)['value'])]));
}
const present = (members: Json): Json =>
  Object.fromEntries(Object.entries(members).filter(([, value]) => value !== undefined));
const defined = (value: unknown, make: (value: unknown) => unknown): unknown =>
  value === undefined ? undefined : make(value);

/** A schema as JSON has it. */
function schema(value: unknown): Json {
  const {
    ref,
    type,
    items,
    properties,
    additional,
    extension,
    enum: words,
    default: preset,
    ...rest
  } = at(value);
  return present({
    ...rest,
    $ref: ref,
    default: defined(preset, yaml),
    type: list(at(type)['value'])[0],
    items: defined(items, (found) => schema(list(at(found)['schema'])[0])),
    properties: defined(properties, (found) => named(found, schema)),
    additionalProperties: defined(additional, (found) => schema(at(found)['schema'])),
    enum: defined(words, (found) => list(found).map(yaml)),
    ...named(extension, yaml),
  });
}

/** Decodes a parameter, which the other codec does not cover. */
function parameter(value: unknown): Json {
  const { reference, parameter: given } = at(value);
  if (reference !== undefined) return { $ref: at(reference)['ref'] };
  const { body, other } = at(given);
  return { name: at(body)['name'] ?? at(at(other)['query'])['name'] ?? at(at(other)['path'])['name'] };
}

describe('the protobuf form', () => {
  const custom = described({
    type: 'object',
    properties: { n: { type: 'integer', minimum: 0.5, default: { a: [1] } }, any: {} },
  });
  const outline = outline2({ resources: [...builtin('plat'), custom] }, VOCABULARIES.plat);
  const json = documentOf(outline);
  const document = readBack(outline);

  test('has the head', () => {
    expect(document['swagger']).toBe('2.0');
    expect(document['info']).toEqual(json['info']);
    expect(document['schemes']).toEqual(['https']);
  });

  test('has every definition as it is in JSON', () => {
    expect(named(document['definitions'], schema)).toEqual(json['definitions']);
  });

  test('has every operation with its parameters and responses', () => {
    const wanted = Object.entries(at(json, 'paths')).flatMap(([path, item]) =>
      Object.entries(at(item)).map(([method, value]) => {
        const { operationId, parameters, responses } = at(value);
        if (Array.isArray(value)) return [path, method];
        const names = list(parameters).map((each) =>
          present({ $ref: at(each)['$ref'], name: at(each)['name'] }),
        );
        return [path, method, operationId, names, Object.keys(at(responses))];
      }),
    );
    const found = Object.entries(named(at(document, 'paths'), (item) => item)).flatMap(([path, item]) =>
      Object.entries(at(item)).map(([method, value]) => {
        if (Array.isArray(value)) return [path, method];
        const { id, parameters, responses } = at(value);
        return [path, method, id, list(parameters).map(parameter), Object.keys(named(responses, at))];
      }),
    );
    const sorted = (rows: readonly unknown[]): readonly string[] =>
      rows.map((row) => JSON.stringify(row)).toSorted();
    expect(sorted(found)).toEqual(sorted(wanted));
  });

  test('has the parameters that operations share', () => {
    const names = Object.keys(named(document['parameters'], at));
    expect(names).toEqual(Object.keys(at(json, 'parameters')));
  });
});
