/** Built-in resources of the fact table in the server's vocabulary. Source: schema/data/api-resources.json.
 *  Pure. */
import { readResourceTable } from '#api/schema/resource-facts.ts';
import { VOCABULARIES, type Vocabulary } from '#api/vocabulary.ts';
import type { ColumnDefinition, ResourceInfo, SubresourceInfo } from './contract.ts';

interface SubresourceFact {
  readonly name: string;
  readonly kind: string;
  readonly group?: string;
  readonly version?: string;
  readonly verbs: readonly string[];
  readonly connect?: boolean;
  readonly httpMethods?: readonly string[];
  readonly options?: string;
}

interface ResourceFact {
  readonly group: string;
  readonly version: string;
  readonly plural: string;
  readonly singular: string;
  readonly kind: string;
  readonly listKind?: string;
  readonly namespaced: boolean;
  readonly verbs: readonly string[];
  readonly shortNames?: readonly string[];
  readonly categories?: readonly string[];
  readonly columns?: readonly ColumnDefinition[];
  readonly deleteReturns?: string;
  readonly subresources?: readonly SubresourceFact[];
}

interface FactTable {
  readonly resources: readonly ResourceFact[];
  readonly defaultColumns: readonly ColumnDefinition[];
}

/** A resource with its names in both worlds. */
export interface BuiltinFact {
  readonly info: ResourceInfo;
  /** `apps/v1/Deployment`, `v1/Pod`: neutral names, independent of the vocabulary on the wire. */
  readonly factKey: string;
  /** `apps/v1.Deployment`, `core/v1.Pod`. */
  readonly typeRef: string;
}

function readTable(): FactTable {
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- a table of ours, checked by facts.test.ts
  return readResourceTable() as FactTable;
}

/** Returns an API group in a vocabulary. Groups without a domain are the same in all vocabularies. */
export function wireGroup(group: string, vocabulary: Vocabulary): string {
  const suffix = `.${VOCABULARIES.plat.apiGroupDomain}`;
  return group.endsWith(suffix) ? `${group.slice(0, -suffix.length)}.${vocabulary.apiGroupDomain}` : group;
}

function subresourceInfo(fact: SubresourceFact, vocabulary: Vocabulary): SubresourceInfo {
  const { name, kind, verbs, group, version, connect, httpMethods, options } = fact;
  return {
    name,
    kind,
    verbs,
    ...(group === undefined ? {} : { group: wireGroup(group, vocabulary) }),
    ...(version === undefined ? {} : { version }),
    ...(connect === undefined ? {} : { connect }),
    ...(httpMethods === undefined ? {} : { httpMethods }),
    ...(options === undefined ? {} : { options }),
  };
}

function builtinFact(
  fact: ResourceFact,
  columns: readonly ColumnDefinition[],
  vocabulary: Vocabulary,
): BuiltinFact {
  const { group, version, kind } = fact;
  const subresources = (fact.subresources ?? []).map((sub) => subresourceInfo(sub, vocabulary));
  return {
    factKey: group === '' ? `${version}/${kind}` : `${group}/${version}/${kind}`,
    typeRef: `${group === '' ? 'core' : group}/${version}.${kind}`,
    info: {
      group: wireGroup(group, vocabulary),
      version,
      plural: fact.plural,
      singular: fact.singular,
      kind,
      listKind: fact.listKind ?? `${kind}List`,
      namespaced: fact.namespaced,
      verbs: fact.verbs,
      shortNames: fact.shortNames ?? [],
      categories: fact.categories ?? [],
      columns,
      deleteReturns: fact.deleteReturns === 'object' ? 'object' : 'Status',
      subresources: new Map(subresources.map((sub) => [sub.name, sub])),
    },
  };
}

/** Every built-in resource, in the order of the table. */
export function builtinFacts(vocabulary: Vocabulary): readonly BuiltinFact[] {
  const table = readTable();
  return table.resources.map((fact) => builtinFact(fact, fact.columns ?? table.defaultColumns, vocabulary));
}

/** Columns of kinds without specific ones. */
export const defaultColumns = (): readonly ColumnDefinition[] => readTable().defaultColumns;

/** `apps/v1`, or `v1` in the core group. */
export const apiVersionOf = ({
  group,
  version,
}: {
  readonly group: string;
  readonly version: string;
}): string => (group === '' ? version : `${group}/${version}`);
