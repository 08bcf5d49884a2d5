/** Documents in pieces of text: OpenAPI 2 of everything, OpenAPI 3 of one group's version. Pure. */
import type { Vocabulary } from '#api/vocabulary.ts';
import { API_RELEASE } from '../discovery/version.ts';
import { type Described, definitions, type Entry, type PAUSE, paths } from './content.ts';
import { OPENAPI_2, OPENAPI_3, type SchemaObject } from './dialect.ts';
import { responseTypes } from './media-types.ts';
import type { Extract } from './others.ts';
import { PARAMETERS } from './parameters.ts';
import { parameter2, pathItem2 } from './paths-2.ts';
import { pathItem3 } from './paths-3.ts';
import type { SchemaContext } from './type-definitions.ts';

/** Member of a document whose entries are generated one by one. */
export interface Section {
  /** Member of the document that has this one as its only member. */
  readonly within?: string;
  readonly name: string;
  readonly entries: () => Iterable<Entry | typeof PAUSE>;
}

/** A document: its short members, then its long ones. */
export interface Outline {
  readonly head: SchemaObject;
  readonly sections: readonly Section[];
}

const BEARER: SchemaObject = {
  type: 'apiKey',
  in: 'header',
  name: 'authorization',
  description: 'A bearer token.',
};
const SECURITY = [{ BearerToken: [] }];

function info(vocabulary: Vocabulary): SchemaObject {
  const { major, minor, patch } = API_RELEASE;
  return { title: `${vocabulary.name} API`, version: `v${major}.${minor}.${patch}` };
}

/** Returns the distinct group versions of the resources, in which DeleteOptions can be expressed. */
function groupVersions({ resources }: Described): SchemaContext['groupVersions'] {
  const found = new Map(
    resources.map(({ info: { group, version } }) => [`${group}/${version}`, { group, version }]),
  );
  return [...found.values()];
}

type Others = Omit<Extract, 'hash'>;
const NO_OTHERS: Others = { paths: new Map(), definitions: new Map(), parameters: new Map() };

/** Generates the local entries, then those of others whose names are not taken. */
function* withOthers(
  own: Iterable<Entry | typeof PAUSE>,
  others: ReadonlyMap<string, SchemaObject>,
): Generator<Entry | typeof PAUSE> {
  if (others.size === 0) {
    yield* own;
    return;
  }
  const names = new Set<string>();
  for (const entry of own) {
    if (entry !== undefined) names.add(entry[0]);
    yield entry;
  }
  for (const entry of others) if (!names.has(entry[0])) yield entry;
}

function* parameters2(): Generator<Entry> {
  for (const name of PARAMETERS.keys()) yield [name, parameter2(name)];
}

function* paths2(described: Described, vocabulary: Vocabulary): Generator<Entry> {
  for (const item of paths(described, vocabulary)) yield [item.path, pathItem2(item, vocabulary)];
}

const common = (described: Described): Pick<SchemaContext, 'groupVersions' | 'enums'> => ({
  groupVersions: groupVersions(described),
  ...(described.enums === undefined ? {} : { enums: described.enums }),
});

/** `others`: merged documents of aggregated servers. */
export function outline2(described: Described, vocabulary: Vocabulary, others: Others = NO_OTHERS): Outline {
  const context = { vocabulary, dialect: OPENAPI_2, ...common(described) };
  return {
    head: {
      swagger: '2.0',
      info: info(vocabulary),
      schemes: ['https'],
      consumes: ['application/json', 'application/yaml', vocabulary.protobufContentType],
      produces: responseTypes(vocabulary, { custom: false }),
      security: SECURITY,
      securityDefinitions: { BearerToken: BEARER },
    },
    sections: [
      { name: 'parameters', entries: () => withOthers(parameters2(), others.parameters) },
      { name: 'paths', entries: () => withOthers(paths2(described, vocabulary), others.paths) },
      {
        name: 'definitions',
        entries: () => withOthers(definitions(described, context), others.definitions),
      },
    ],
  };
}

export function outline3(described: Described, vocabulary: Vocabulary): Outline {
  const context = { vocabulary, dialect: OPENAPI_3, ...common(described) };
  return {
    head: { openapi: '3.0.0', info: info(vocabulary) },
    sections: [
      {
        name: 'paths',
        *entries() {
          for (const item of paths(described, vocabulary)) yield [item.path, pathItem3(item, vocabulary)];
        },
      },
      { within: 'components', name: 'schemas', entries: () => definitions(described, context) },
    ],
  };
}
