/** Group versions of aggregated servers, extracted from their OpenAPI 2 documents and merged with ours.
 *  Nothing in them is trusted: dangling references and foreign paths are left out. Pure. Source: upstream's
 *  aggregator of OpenAPI, release 1.24. */
import { createHash } from 'node:crypto';
import { isDeepStrictEqual } from 'node:util';
import { isMutableObject } from '#api/kit/object.ts';
import type { SchemaObject } from './dialect.ts';

type Named = ReadonlyMap<string, SchemaObject>;

/** Paths with the definitions that they refer to. */
export interface Extract {
  readonly hash: string;
  readonly paths: Named;
  readonly definitions: Named;
  readonly parameters: Named;
}

/** Documents of other servers, as they are right now. */
export interface OtherDocuments {
  /** Rises with every change. */
  readonly generation: number;
  extracts(): readonly Extract[];
  /** Documents of OpenAPI 3 by path: `apis/<group>/<version>`. */
  documents3(): ReadonlyMap<string, { readonly hash: string }>;
  /** The document of a path. @throws StatusError ServiceUnavailable */
  fetch3(path: string): Promise<Buffer>;
}

/** So many paths, and things that they refer to, are taken from one server. */
const MOST_PATHS = 2000;
const MOST_REFERRED = 5000;
const NAME = /^[\w.-]{1,250}$/;
const REFERENCE = /^#\/(definitions|parameters)\/(.+)$/;

type Kind = 'definitions' | 'parameters';

interface Reference {
  readonly kind: Kind;
  readonly name: string;
}

/** The references in a value; `undefined`: one of them leads nowhere. */
function referencesIn(value: unknown): readonly Reference[] | undefined {
  const found: Reference[] = [];
  const left: unknown[] = [value];
  while (left.length > 0) {
    const next = left.pop();
    if (Array.isArray(next)) left.push(...(next as readonly unknown[]));
    if (!isMutableObject(next)) continue;
    for (const [name, member] of Object.entries(next)) {
      if (name !== '$ref' || typeof member !== 'string') {
        left.push(member);
        continue;
      }
      const [, kind, to = ''] = REFERENCE.exec(member) ?? [];
      if ((kind !== 'definitions' && kind !== 'parameters') || !NAME.test(to)) return undefined;
      found.push({ kind, name: to });
    }
  }
  return found;
}

/** Resolves references in a document; remembers unresolvable ones. */
function createFollower(document: Readonly<Record<string, unknown>>) {
  const taken: Record<Kind, Map<string, SchemaObject>> = { definitions: new Map(), parameters: new Map() };
  const bad = new Set<string>();

  /** Everything that a value refers to, and so on; `undefined`: it can't be used. */
  function reach(value: unknown): ReadonlyMap<string, Reference> | undefined {
    const reached = new Map<string, Reference>();
    const left = [value];
    while (left.length > 0) {
      const references = referencesIn(left.pop());
      if (references === undefined) return undefined;
      for (const reference of references) {
        const key = `${reference.kind}/${reference.name}`;
        if (bad.has(key)) return undefined;
        if (reached.has(key) || taken[reference.kind].has(reference.name)) continue;
        const all = document[reference.kind];
        const found =
          isMutableObject(all) && Object.hasOwn(all, reference.name) ? all[reference.name] : undefined;
        if (!isMutableObject(found)) {
          bad.add(key);
          return undefined;
        }
        reached.set(key, reference);
        left.push(found);
      }
    }
    return reached;
  }

  return {
    taken,
    /** Takes everything that the value needs; false: it can't be used. */
    take(value: unknown): boolean {
      const reached = reach(value);
      if (reached === undefined) return false;
      if (taken.definitions.size + taken.parameters.size + reached.size > MOST_REFERRED) return false;
      for (const { kind, name } of reached.values()) {
        const all = document[kind];
        const found = isMutableObject(all) ? all[name] : undefined;
        if (isMutableObject(found)) taken[kind].set(name, found);
      }
      return true;
    },
  };
}

/** Extracts one group version from a document; `undefined` if the document is invalid or lacks it. */
export function extractApi(document: unknown, base: string): Extract | undefined {
  if (!isMutableObject(document) || document['swagger'] !== '2.0' || !isMutableObject(document['paths']))
    return undefined;
  const follower = createFollower(document);
  const paths = new Map<string, SchemaObject>();
  for (const [path, item] of Object.entries(document['paths'])) {
    const isTheirs = path === base || path === `${base}/` || path.startsWith(`${base}/`);
    if (!isTheirs || !isMutableObject(item) || paths.size >= MOST_PATHS) continue;
    if (follower.take(item)) paths.set(path, item);
  }
  if (paths.size === 0) return undefined;
  const { definitions, parameters } = follower.taken;
  const said = [[...paths], [...definitions], [...parameters]];
  const hash = createHash('sha256').update(JSON.stringify(said)).digest('hex');
  return { hash, paths, definitions, parameters };
}

/** The value with other names in its references. */
function renamed(value: unknown, names: ReadonlyMap<string, string>): unknown {
  if (Array.isArray(value)) return value.map((item) => renamed(item, names));
  if (!isMutableObject(value)) return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, member]) => [
      name,
      name === '$ref' && typeof member === 'string' ? (names.get(member) ?? member) : renamed(member, names),
    ]),
  );
}

/** Returns the definitions of an extract whose names conflict with earlier extracts, with their new names. */
function clashesOf(extract: Extract, merged: Record<Kind, Map<string, SchemaObject>>): Map<string, string> {
  const names = new Map<string, string>();
  for (const kind of ['definitions', 'parameters'] as const) {
    for (const [name, value] of extract[kind]) {
      const known = merged[kind].get(name);
      if (known === undefined || isDeepStrictEqual(known, value)) continue;
      let next = 2;
      while (merged[kind].has(`${name}_v${next}`)) next += 1;
      names.set(`#/${kind}/${name}`, `#/${kind}/${name}_v${next}`);
    }
  }
  return names;
}

/** Merges all extracts. Of two different definitions with the same name, the later one is renamed. */
export function mergeExtracts(extracts: readonly Extract[]): Omit<Extract, 'hash'> {
  const paths = new Map<string, SchemaObject>();
  const merged = {
    definitions: new Map<string, SchemaObject>(),
    parameters: new Map<string, SchemaObject>(),
  };
  for (const extract of extracts) {
    const names = clashesOf(extract, merged);
    const fit = (value: SchemaObject): SchemaObject => {
      const made = names.size === 0 ? value : renamed(value, names);
      return isMutableObject(made) ? made : value;
    };
    for (const kind of ['definitions', 'parameters'] as const) {
      for (const [name, value] of extract[kind]) {
        const own = names.get(`#/${kind}/${name}`)?.slice(kind.length + 3) ?? name;
        merged[kind].set(own, fit(value));
      }
    }
    for (const [path, item] of extract.paths) if (!paths.has(path)) paths.set(path, fit(item));
  }
  return { paths, ...merged };
}
