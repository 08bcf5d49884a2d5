/** Assembles the built-in resources: names from the table, content from the schema, behaviour from the
 *  kinds. */
import type { Vocabulary } from '#api/vocabulary.ts';
import { createBuiltinSchema } from './builtin-schema.ts';
import type { KindEntry, KindTable, Resource, ResourceInfo, StorageInfo } from './contract.ts';
import { dropDisabledFields } from './drop-gated-fields.ts';
import { apiVersionOf, type BuiltinFact, builtinFacts } from './facts.ts';
import { GATED_FIELDS, GATED_SUBRESOURCES } from './gated-fields.ts';
import { deprecations, deprecationWarning, formatRelease } from './groups/deprecations.ts';
import { privilegedCheck } from './privileged.ts';

export interface BuiltinDeps {
  readonly vocabulary: Vocabulary;
  readonly gates: ReadonlySet<string>;
  readonly kinds: KindTable;
  /** Whether containers may be privileged. Default true. */
  readonly allowPrivileged?: boolean;
}

/** Resources that are operations, not objects: nothing of them is stored. */
const VIRTUAL_VERBS = 'create';
export const isVirtual = ({ verbs }: { readonly verbs: readonly string[] }): boolean =>
  verbs.length === 1 && verbs[0] === VIRTUAL_VERBS;

const PLAIN: KindEntry = { strategy: {} };

/** Key of the stored kind in the table: another version of the kind, in another group for events. */
function storedKey(fact: BuiltinFact, { storedAs }: KindEntry): string {
  if (storedAs === undefined) return fact.factKey;
  const groupVersion = storedAs.group === '' ? storedAs.version : `${storedAs.group}/${storedAs.version}`;
  return `${groupVersion}/${fact.info.kind}`;
}

function storageOf(stored: BuiltinFact): StorageInfo {
  const { group, plural, kind, namespaced } = stored.info;
  return {
    prefix: `/registry/${group === '' ? '' : `${group}/`}${plural}/`,
    apiVersion: apiVersionOf(stored.info),
    kind,
    namespaced,
  };
}

type Fate = Pick<Resource, 'deprecation' | 'removedRelease'>;

/** Which resources are on their way out, by `group/version/resource`. */
function fates(vocabulary: Vocabulary): ReadonlyMap<string, Fate> {
  return new Map(
    deprecations(vocabulary).map((entry) => [
      `${entry.group}/${entry.version}/${entry.resource}`,
      {
        deprecation: deprecationWarning(entry),
        ...(entry.removedIn === undefined ? {} : { removedRelease: formatRelease(entry.removedIn) }),
      },
    ]),
  );
}

/** Returns the names of a resource without the subresources of disabled gates. */
function enabledInfo({ info, typeRef }: BuiltinFact, gates: ReadonlySet<string>): ResourceInfo {
  const isEnabled = (name: string): boolean => {
    const gate = GATED_SUBRESOURCES[`${typeRef}/${name}`];
    return gate === undefined || gates.has(gate);
  };
  const subresources = [...info.subresources].filter(([name]) => isEnabled(name));
  return subresources.length === info.subresources.size
    ? info
    : { ...info, subresources: new Map(subresources) };
}

/** All built-in resources, those that are operations included. */
export function builtinResources(deps: BuiltinDeps): readonly Resource[] {
  const { vocabulary, gates, kinds } = deps;
  const facts = builtinFacts(vocabulary);
  const byKey = new Map(facts.map((fact) => [fact.factKey, fact]));
  const made = new Map<string, Resource>();
  const fateOf = fates(vocabulary);

  function make(fact: BuiltinFact): Resource {
    const known = made.get(fact.factKey);
    if (known !== undefined) return known;
    const entry = kinds[fact.factKey] ?? PLAIN;
    const key = storedKey(fact, entry);
    const storedFact = byKey.get(key) ?? fact;
    const conversion = entry.storedAs?.conversion;
    const dropDisabled = dropDisabledFields(GATED_FIELDS[fact.typeRef] ?? [], gates);
    const policyErrors = deps.allowPrivileged === false ? privilegedCheck(fact.typeRef) : undefined;
    const resource: Resource = {
      info: enabledInfo(fact, gates),
      schema: createBuiltinSchema(fact.typeRef, { vocabulary, gates }),
      strategy: entry.strategy,
      parts: entry.parts ?? {},
      storage: storageOf(storedFact),
      ...fateOf.get(`${fact.info.group}/${fact.info.version}/${fact.info.plural}`),
      ...(policyErrors === undefined ? {} : { policyErrors }),
      ...(dropDisabled === undefined ? {} : { dropDisabled }),
      ...(conversion === undefined ? {} : { conversion }),
      ...(entry.decidesInServed === true ? { decidesInServed: true } : {}),
      ...(storedFact === fact ? {} : { stored: make(storedFact) }),
    };
    made.set(fact.factKey, resource);
    return resource;
  }
  return facts.map(make);
}
