/** A CustomResourceDefinition, parsed for this folder. Pure. Source: apiextensions/v1. */
import type {
  CustomResourceDefinition,
  CustomResourceDefinitionNames,
  CustomResourceDefinitionVersion,
} from '#api/gen/apiextensions-v1.ts';
import type { ApiObject } from '../resources/contract.ts';
import { typed } from '../resources/view.ts';

/** Holds a definition that is being deleted until its objects are gone. */
export const cleanupFinalizer = (apiGroupDomain: string): string =>
  `customresourcecleanup.apiextensions.${apiGroupDomain}`;

export type ConditionType = 'NamesAccepted' | 'Established' | 'Terminating' | 'NonStructuralSchema';

export function holds(definition: CustomResourceDefinition, type: ConditionType): boolean {
  return definition.status?.conditions?.some((each) => each.type === type && each.status === 'True') === true;
}

/** The definition's names with those that it leaves out. */
export function completeNames(names: CustomResourceDefinitionNames): Required<CustomResourceDefinitionNames> {
  const { plural, singular = '', kind, listKind = '', shortNames = [], categories = [] } = names;
  return {
    plural,
    kind,
    singular: singular === '' ? kind.toLowerCase() : singular,
    listKind: listKind === '' ? `${kind}List` : listKind,
    shortNames,
    categories,
  };
}

/** The names under which it is served; those that it wants as long as none are accepted: they are empty then. */
export function servedNames({ spec, status }: CustomResourceDefinition): CustomResourceDefinitionNames {
  const { acceptedNames } = status ?? {};
  return acceptedNames === undefined || acceptedNames.kind === '' ? spec.names : acceptedNames;
}

export const definitionOf = (object: ApiObject): CustomResourceDefinition =>
  typed<CustomResourceDefinition>(object);

/** Returns a definition without its large members: schemas and managed fields. */
export function withoutSchemas({
  metadata = {},
  spec,
  status,
}: CustomResourceDefinition): CustomResourceDefinition {
  const { managedFields: _, ...kept } = metadata;
  const versions = spec.versions.map(({ schema: _schema, ...version }) => version);
  return { metadata: kept, spec: { ...spec, versions }, ...(status === undefined ? {} : { status }) };
}

/** The version that objects are stored in; every valid definition has one. */
export function storageVersion({
  spec,
}: CustomResourceDefinition): CustomResourceDefinitionVersion | undefined {
  return spec.versions.find(({ storage }) => storage);
}

/** Where the objects are. */
export const storagePrefix = ({ spec }: CustomResourceDefinition): string =>
  `/registry/${spec.group}/${spec.names.plural}/`;
