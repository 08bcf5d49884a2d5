/** Documents in pieces of text: OpenAPI 2 of everything, OpenAPI 3 of one group's version. Pure. */
import type { Vocabulary } from '#api/vocabulary.ts';
import { API_RELEASE } from '../discovery/version.ts';
import { type Described, definitions, type Entry, type PAUSE, paths } from './content.ts';
import { OPENAPI_2, OPENAPI_3, type SchemaObject } from './dialect.ts';
import { answerTypes } from './media-types.ts';
import { PARAMETERS } from './parameters.ts';
import { parameter2, pathItem2 } from './paths-2.ts';
import { pathItem3 } from './paths-3.ts';
import type { SchemaContext } from './type-definitions.ts';

/** A member of a document whose entries come one by one. */
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

/** Groups and versions of the resources, each once: those in which options of deletion may be written. */
function groupVersions({ resources }: Described): SchemaContext['groupVersions'] {
  const found = new Map(
    resources.map(({ info: { group, version } }) => [`${group}/${version}`, { group, version }]),
  );
  return [...found.values()];
}

export function outline2(described: Described, vocabulary: Vocabulary): Outline {
  const context = { vocabulary, dialect: OPENAPI_2, groupVersions: groupVersions(described) };
  return {
    head: {
      swagger: '2.0',
      info: info(vocabulary),
      schemes: ['https'],
      consumes: ['application/json', 'application/yaml', vocabulary.protobufContentType],
      produces: answerTypes(vocabulary, { custom: false }),
      security: SECURITY,
      securityDefinitions: { BearerToken: BEARER },
    },
    sections: [
      {
        name: 'parameters',
        *entries() {
          for (const name of PARAMETERS.keys()) yield [name, parameter2(name)];
        },
      },
      {
        name: 'paths',
        *entries() {
          for (const item of paths(described, vocabulary)) yield [item.path, pathItem2(item, vocabulary)];
        },
      },
      { name: 'definitions', entries: () => definitions(described, context) },
    ],
  };
}

export function outline3(described: Described, vocabulary: Vocabulary): Outline {
  const context = { vocabulary, dialect: OPENAPI_3, groupVersions: groupVersions(described) };
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
