/** Resources of a definition: one for each served version. Source: apiextensions/v1. */
import type {
  CustomResourceDefinition,
  CustomResourceDefinitionNames,
  CustomResourceDefinitionVersion,
} from '#api/gen/apiextensions-v1.ts';
import type { Vocabulary } from '#api/vocabulary.ts';
import type { Resource, ResourceInfo, StorageInfo, SubresourceInfo } from '../resources/contract.ts';
import { type ConvertElsewhere, customConversion } from './conversion/conversion.ts';
import { type CustomTable, customTable } from './custom-rows.ts';
import { customScale } from './custom-scale.ts';
import { customParts, customStrategy } from './custom-strategy.ts';
import { completeNames, holds, servedNames, storagePrefix, storageVersion } from './definition.ts';
import { type CustomSchema, createCustomSchema } from './schema/custom-schema.ts';

export interface CustomResourceOptions {
  /** Of every version. */
  readonly schemas: ReadonlyMap<string, CustomSchema>;
  /** Fires when the resources are no longer served as they are. */
  readonly retired: AbortSignal;
  /** The definition's webhook, if it converts by one. */
  readonly elsewhere?: ConvertElsewhere;
}

const VERBS: readonly string[] = [
  'delete',
  'deletecollection',
  'get',
  'list',
  'patch',
  'create',
  'update',
  'watch',
];
const PART_VERBS: readonly string[] = ['get', 'patch', 'update'];

function subresourcesOf(
  { subresources }: CustomResourceDefinitionVersion,
  kind: string,
): ReadonlyMap<string, SubresourceInfo> {
  const found: SubresourceInfo[] = [];
  if (subresources?.status !== undefined) found.push({ name: 'status', kind, verbs: PART_VERBS });
  if (subresources?.scale !== undefined) {
    found.push({ name: 'scale', kind: 'Scale', group: 'autoscaling', version: 'v1', verbs: PART_VERBS });
  }
  return new Map(found.map((each) => [each.name, each]));
}

function infoOf(
  definition: CustomResourceDefinition,
  version: CustomResourceDefinitionVersion,
  names: CustomResourceDefinitionNames,
  columns: CustomTable['columns'],
): ResourceInfo {
  const { plural, singular, kind, listKind, shortNames, categories } = completeNames(names);
  const terminating = holds(definition, 'Terminating');
  return {
    group: definition.spec.group,
    version: version.name,
    plural,
    singular,
    kind,
    listKind,
    shortNames,
    categories,
    columns,
    namespaced: definition.spec.scope === 'Namespaced',
    verbs: terminating ? VERBS.filter((verb) => verb !== 'create') : VERBS,
    deleteReturns: 'Status',
    subresources: subresourcesOf(version, kind),
  };
}

/** Reports whether stored objects can differ from the schemas of a definition, because it changed or is being deleted. */
function isOutdated({ metadata }: CustomResourceDefinition): boolean {
  const deletion = metadata?.deletionTimestamp === undefined ? 0 : 1;
  return (metadata?.generation ?? 1) > 1 + deletion;
}

function deprecationOf(
  version: CustomResourceDefinitionVersion,
  { group, kind }: ResourceInfo,
): string | undefined {
  if (version.deprecated !== true) return undefined;
  return version.deprecationWarning ?? `${group}/${version.name} ${kind} is deprecated`;
}

/** Properties that all versions share. */
interface Common {
  readonly definition: CustomResourceDefinition;
  readonly names: CustomResourceDefinitionNames;
  readonly schemas: ReadonlyMap<string, CustomSchema>;
  readonly storage: StorageInfo;
  readonly storageName: string;
}

function versionResource(
  version: CustomResourceDefinitionVersion,
  schema: CustomSchema,
  { definition, names, schemas, storage, storageName }: Common,
  { retired, elsewhere }: CustomResourceOptions,
): Resource {
  const table = customTable(version.additionalPrinterColumns);
  const info = infoOf(definition, version, names, table.columns);
  const { metadata, status } = definition;
  const conversion = customConversion({
    group: info.group,
    version: version.name,
    storage: storageName,
    storedVersions: status?.storedVersions ?? [],
    schemas,
    outdated: isOutdated(definition),
    id: `${metadata?.uid ?? ''}/${metadata?.generation ?? 0}`,
    ...(elsewhere === undefined ? {} : { elsewhere }),
  });
  const deprecation = deprecationOf(version, info);
  const scale = version.subresources?.scale;
  const terminating = holds(definition, 'Terminating');
  return {
    info,
    schema,
    storage,
    retired,
    decidesInServed: true,
    strategy: customStrategy({ info, schema, row: table.row, terminating }),
    parts: customParts(schema),
    ...(conversion === undefined ? {} : { conversion }),
    ...(deprecation === undefined ? {} : { deprecation }),
    ...(scale === undefined ? {} : { scale: customScale(scale) }),
  };
}

/** The schemas of a definition by version. `again`: the definition once more, since what of it is rarely needed is not
 *  held in memory. */
export function customSchemas(
  definition: CustomResourceDefinition,
  { vocabulary, again }: { readonly vocabulary: Vocabulary; readonly again: () => CustomResourceDefinition },
): ReadonlyMap<string, CustomSchema> {
  const { spec } = definition;
  const { kind } = servedNames(definition);
  return new Map(
    spec.versions.map(({ name }, index) => [
      name,
      createCustomSchema({
        apiVersion: `${spec.group}/${name}`,
        kind,
        schema: () => again().spec.versions[index]?.schema?.openAPIV3Schema,
        vocabulary,
      }),
    ]),
  );
}

/** Returns the resources of an established definition. The first one represents the stored objects. */
export function customResources(
  definition: CustomResourceDefinition,
  options: CustomResourceOptions,
): readonly Resource[] {
  const { spec } = definition;
  const names = servedNames(definition);
  const stored = storageVersion(definition);
  if (stored === undefined) return [];
  const { kind } = names;
  const { schemas } = options;
  const storage = {
    prefix: storagePrefix(definition),
    apiVersion: `${spec.group}/${stored.name}`,
    kind,
    namespaced: spec.scope === 'Namespaced',
  };
  const common: Common = { definition, names, schemas, storage, storageName: stored.name };
  const served = spec.versions.filter((version) => version.served);
  const made = served.flatMap((version) => {
    const schema = schemas.get(version.name);
    return schema === undefined ? [] : [versionResource(version, schema, common, options)];
  });
  const main = made.find(({ info }) => info.version === stored.name) ?? made[0];
  if (main === undefined) return [];
  // One of them stands for what is stored: who looks after all objects looks after each once.
  return [main, ...made.filter((each) => each !== main).map((each) => ({ ...each, stored: main }))];
}

/** Resource of the stored objects in any version, for their removal without conversion. */
export function storedObjects(definition: CustomResourceDefinition, vocabulary: Vocabulary): Resource {
  const { spec } = definition;
  const version = storageVersion(definition) ?? spec.versions[0];
  const schema = createCustomSchema({
    apiVersion: `${spec.group}/${version?.name ?? ''}`,
    kind: spec.names.kind,
    schema: () => undefined,
    vocabulary,
  });
  const { plural, singular, kind, listKind } = completeNames(spec.names);
  const namespaced = spec.scope === 'Namespaced';
  const apiVersion = `${spec.group}/${version?.name ?? ''}`;
  return {
    info: {
      group: spec.group,
      version: version?.name ?? '',
      plural,
      singular,
      kind,
      listKind,
      namespaced,
      verbs: VERBS,
      shortNames: [],
      categories: [],
      columns: [],
      deleteReturns: 'Status',
      subresources: new Map(),
    },
    schema,
    strategy: {},
    parts: {},
    decidesInServed: true,
    storage: { prefix: storagePrefix(definition), apiVersion, kind, namespaced },
  };
}
