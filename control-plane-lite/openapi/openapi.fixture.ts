/** Documents as a whole, and custom resources with schemas, for tests. */
import { isObject } from '#api/kit/object.ts';
import { VOCABULARIES, type VocabularyName } from '#api/vocabulary.ts';
import { type CustomNames, customResource } from '../discovery/discovery.fixture.ts';
import { builtinResources } from '../resources/builtin.ts';
import type { Resource } from '../resources/contract.ts';
import type { Outline } from './documents.ts';
import { jsonPieces } from './json-pieces.ts';

export type Json = Readonly<Record<string, unknown>>;

/** The member at a path of objects; `{}` where there is none. */
export function at(value: unknown, ...path: readonly string[]): Json {
  let found: unknown = value;
  for (const name of path) found = isObject(found) ? found[name] : undefined;
  return isObject(found) ? found : {};
}

/** Every object inside a value, and the value itself. */
export function* objectsIn(value: unknown): Generator<Json> {
  if (Array.isArray(value)) for (const item of value) yield* objectsIn(item);
  if (!isObject(value)) return;
  yield value;
  for (const member of Object.values(value)) yield* objectsIn(member);
}

/** A document as its readers have it. */
export const documentOf = (outline: Outline): Json => {
  const parsed: unknown = JSON.parse([...jsonPieces(outline)].join(''));
  if (!isObject(parsed)) throw new Error('a document is not an object');
  return parsed;
};

export const builtin = (name: VocabularyName): readonly Resource[] =>
  builtinResources({ vocabulary: VOCABULARIES[name], gates: new Set(), kinds: {} });

export const CRON_TABS: CustomNames = {
  group: 'stable.example.com',
  version: 'v1',
  plural: 'crontabs',
  kind: 'CronTab',
};

/** A custom resource with a status and this schema. */
export function described(schema: object | undefined, names: CustomNames = CRON_TABS): Resource {
  const resource = customResource(names);
  const { kind } = names;
  const status = { name: 'status', kind, verbs: ['get', 'patch', 'update'] };
  return {
    ...resource,
    info: { ...resource.info, subresources: new Map([['status', status]]) },
    schema: { ...resource.schema, describe: () => schema },
  };
}
