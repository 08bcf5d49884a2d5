import { describe, expect, test } from 'vitest';
import { isObject } from '#api/kit/object.ts';
import { VOCABULARIES, type VocabularyName } from '#api/vocabulary.ts';
import type { Resource } from '../resources/contract.ts';
import { apiVersionOf } from '../resources/facts.ts';
import { outline2, outline3 } from './documents.ts';
import { definitionName } from './names.ts';
import { at, builtin, described, documentOf, type Json, objectsIn } from './openapi.fixture.ts';

interface Case {
  readonly name: VocabularyName;
  readonly version: 2 | 3;
}
const CASES: readonly Case[] = [
  { name: 'plat', version: 2 },
  { name: 'plat', version: 3 },
  { name: 'kubernetes', version: 2 },
  { name: 'kubernetes', version: 3 },
];

const schema = { type: 'object', properties: { spec: { type: 'object' } } };
const resourcesOf = (name: VocabularyName): readonly Resource[] => [...builtin(name), described(schema)];

function whole({ name, version }: Case): Json {
  const content = { resources: resourcesOf(name) };
  const vocabulary = VOCABULARIES[name];
  return documentOf(version === 2 ? outline2(content, vocabulary) : outline3(content, vocabulary));
}

const definitionsOf = (document: Json, { version }: Case): Json =>
  version === 2 ? at(document, 'definitions') : at(document, 'components', 'schemas');

/** Returns the target of a reference inside the document. */
function resolve(document: Json, reference: string): unknown {
  const names = reference.split('/').slice(1);
  const parent = at(document, ...names.slice(0, -1));
  return parent[names.at(-1) ?? ''];
}

describe.each(CASES)('OpenAPI $version in the $name vocabulary', (of) => {
  const document = whole(of);
  const vocabulary = VOCABULARIES[of.name];
  const mark = `${vocabulary.schemaExtensionPrefix}group-version-kind`;
  const paths = at(document, 'paths');
  const operations = Object.entries(paths).flatMap(([path, item]) =>
    Object.entries(at(item))
      .filter(([method]) => method !== 'parameters')
      .map(([method, operation]) => ({ path, method, item: at(item), operation: at(operation) })),
  );
  const parametersOf = (value: Json): readonly Json[] => {
    const listed: readonly unknown[] = Array.isArray(value['parameters']) ? value['parameters'] : [];
    return listed.map((entry) => {
      const found =
        isObject(entry) && typeof entry['$ref'] === 'string' ? resolve(document, entry['$ref']) : entry;
      return at(found);
    });
  };

  test('every reference leads somewhere', () => {
    const references = [...objectsIn(document)].flatMap(({ $ref }) =>
      typeof $ref === 'string' ? [$ref] : [],
    );
    expect(references.length).toBeGreaterThan(1000);
    expect(references.filter((reference) => !isObject(resolve(document, reference)))).toEqual([]);
  });

  test('every served kind and its list have one definition that is marked', () => {
    const marked = Object.values(definitionsOf(document, of)).flatMap(
      (definition) => at(definition)[mark] ?? [],
    );
    const count = (group: string, version: string, kind: string): number =>
      marked.flat().filter((each) => {
        const known = at(each);
        return known['group'] === group && known['version'] === version && known['kind'] === kind;
      }).length;
    const counts = resourcesOf(of.name).flatMap(({ info: { group, version, kind, listKind, verbs } }) => [
      [`${group}/${version} ${kind}`, count(group, version, kind)],
      ...(verbs.includes('list')
        ? [[`${group}/${version} ${listKind}`, count(group, version, listKind)]]
        : []),
    ]);
    expect(counts.filter(([, found]) => found !== 1)).toEqual([]);
  });

  test('every resource has its paths, and operations for its verbs', () => {
    const missing = resourcesOf(of.name).flatMap(({ info }) => {
      const root = `${info.group === '' ? '/api' : '/apis'}/${apiVersionOf(info)}`;
      const collection = `${root}${info.namespaced ? '/namespaces/{namespace}' : ''}/${info.plural}`;
      const wanted: readonly (readonly [string, string, string])[] = [
        ['list', `${root}/${info.plural}`, 'get'],
        ['list', collection, 'get'],
        ['create', collection, 'post'],
        ['deletecollection', collection, 'delete'],
        ['get', `${collection}/{name}`, 'get'],
        ['update', `${collection}/{name}`, 'put'],
        ['patch', `${collection}/{name}`, 'patch'],
        ['delete', `${collection}/{name}`, 'delete'],
      ];
      const parts = [...info.subresources.keys()].map((part) => `${collection}/{name}/${part}`);
      return [
        ...wanted.filter(([verb, path, method]) => {
          return info.verbs.includes(verb) && at(paths, path)[method] === undefined;
        }),
        ...parts.filter((path) => paths[path] === undefined),
      ];
    });
    expect(missing).toEqual([]);
  });

  test('operations have names of their own, of letters and digits', () => {
    const ids = operations.map(({ operation }) => operation['operationId']);
    expect(ids.filter((id) => typeof id !== 'string' || !/^[a-z][A-Za-z0-9]+$/.test(id))).toEqual([]);
    expect(ids.filter((id, index) => ids.indexOf(id) !== index)).toEqual([]);
  });

  test('the parameters of a path are those that are described, each once', () => {
    const wrong = operations.flatMap(({ path, method, item, operation }) => {
      const all = [...parametersOf(item), ...parametersOf(operation)];
      const inPath = all.flatMap((parameter) =>
        parameter['in'] === 'path' ? [`{${String(parameter['name'])}}`] : [],
      );
      const names = all.map((parameter) => `${String(parameter['in'])} ${String(parameter['name'])}`);
      const same = inPath.toSorted().join() === (path.match(/\{[^}]*\}/g) ?? []).toSorted().join();
      return same && new Set(names).size === names.length ? [] : [`${method} ${path}`];
    });
    expect(wrong).toEqual([]);
  });

  test('required members are among the properties', () => {
    const wrong = Object.entries(definitionsOf(document, of)).filter(([, definition]) => {
      const { required = [], properties = {} } = at(definition);
      return (
        !Array.isArray(required) ||
        required.some((name) => !Object.hasOwn(at({ properties }, 'properties'), String(name)))
      );
    });
    expect(wrong).toEqual([]);
  });

  test('clients see that unknown fields are found by the server', () => {
    const { operation = {} } =
      operations.find(
        ({ method, path }) => method === 'patch' && path === '/api/v1/namespaces/{namespace}/pods/{name}',
      ) ?? {};
    const { parameters = [] } = operation;
    const names = Array.isArray(parameters) ? parameters.map((parameter) => at(parameter)['name']) : [];
    expect(names).toEqual(expect.arrayContaining(['fieldValidation', 'dryRun', 'fieldManager', 'force']));
  });

  test('no word of the other vocabulary is said', () => {
    const other = VOCABULARIES[of.name === 'plat' ? 'kubernetes' : 'plat'];
    const text = JSON.stringify(document);
    const words = [other.apiGroupDomain, other.schemaExtensionPrefix, other.protobufContentType];
    expect(words.filter((word) => text.includes(word))).toEqual([]);
  });
});

describe.each(CASES)('definitions of OpenAPI $version in the $name vocabulary', (of) => {
  const document = whole(of);
  const vocabulary = VOCABULARIES[of.name];
  const root = of.version === 2 ? '#/definitions' : '#/components/schemas';
  const core = (typeName: string): string => definitionName({ packageName: 'core/v1', typeName }, vocabulary);
  const mark = (name: string): string => `${vocabulary.schemaExtensionPrefix}${name}`;

  test('specify how lists merge', () => {
    const members = at(definitionsOf(document, of), core('PodSpec'), 'properties');
    expect(at(members, 'containers')).toMatchObject({
      type: 'array',
      items: { $ref: `${root}/${core('Container')}` },
      [mark('patch-merge-key')]: 'name',
      [mark('patch-strategy')]: 'merge',
      [mark('list-type')]: 'map',
      [mark('list-map-keys')]: ['name'],
    });
    expect(at(members, 'volumes')[mark('patch-strategy')]).toBe('merge,retainKeys');
  });

  test('specify required members and enumerations', () => {
    const definitions = definitionsOf(document, of);
    expect(at(definitions, core('Container'))['required']).toEqual(['name']);
    expect(at(definitions, core('Container'), 'properties', 'imagePullPolicy')).toMatchObject({
      type: 'string',
      enum: expect.arrayContaining(['Always', 'Never', 'IfNotPresent']) as unknown,
    });
  });

  test('describe each reference in place', () => {
    const { spec } = at(definitionsOf(document, of), core('Pod'), 'properties');
    const reference = { $ref: `${root}/${core('PodSpec')}` };
    const description = 'Desired state of the Pod.';
    expect(spec).toEqual(
      of.version === 2 ? { description, ...reference } : { description, allOf: [reference] },
    );
  });
});
