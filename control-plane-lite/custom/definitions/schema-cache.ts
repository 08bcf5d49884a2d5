/** Cache of compiled schemas. Compiling a large schema takes longer than one turn of the event loop may take,
 *  so compilation runs in short slices and completes before the definition's resources are served. */

import type { Turns } from '#api/kit/steps.ts';
import type { Vocabulary } from '#api/vocabulary.ts';
import type { CachedObject } from '../../cache/contract.ts';
import { customSchemas } from '../custom-resources.ts';
import { definitionOf, servedNames } from '../definition.ts';
import type { CustomSchema } from '../schema/custom-schema.ts';

export interface SchemaShelf {
  /** By version; the same ones for as long as the definition says the same. */
  schemasOf(entry: CachedObject): ReadonlyMap<string, CustomSchema>;
  /** Resolves when the schemas are compiled; `undefined`: they already are. Never rejects. */
  prepare(entry: CachedObject): Promise<void> | undefined;
  forget(name: string): void;
}

export interface SchemaShelfDeps {
  readonly vocabulary: Vocabulary;
  readonly createTurns: () => Turns;
}

interface Item {
  readonly state: string;
  /** The latest object of the definition, with the same schemas, so that no older one is retained. */
  entry: CachedObject;
  readonly schemas: ReadonlyMap<string, CustomSchema>;
  ready: Promise<void> | undefined;
  isReady: boolean;
}

/** Definitions below this size are compiled when their first object comes, which takes some 10 ms at most. */
export const LARGE_BYTES: number = 128 * 1024;

function stateOf(entry: CachedObject): string {
  const definition = definitionOf(entry.object());
  const { metadata } = definition;
  return JSON.stringify([metadata?.uid, metadata?.generation, servedNames(definition).kind]);
}

export function createSchemaShelf({ vocabulary, createTurns }: SchemaShelfDeps): SchemaShelf {
  const items = new Map<string, Item>();

  function itemOf(entry: CachedObject): Item {
    const state = stateOf(entry);
    const known = items.get(entry.name);
    if (known?.state === state) {
      known.entry = entry;
      return known;
    }
    const again = (): ReturnType<typeof definitionOf> => definitionOf(item.entry.object());
    const schemas = customSchemas(definitionOf(entry.object()), { vocabulary, again });
    const isReady = entry.json.length < LARGE_BYTES;
    const item: Item = { state, entry, schemas, ready: undefined, isReady };
    items.set(entry.name, item);
    return item;
  }

  async function prepareAll(item: Item): Promise<void> {
    const turns = createTurns();
    try {
      for (const schema of item.schemas.values()) await schema.prepare(turns);
    } catch {
      // A compilation error is reported to the code that uses the schema.
    }
    item.isReady = true;
    item.ready = undefined;
  }

  return {
    schemasOf: (entry) => itemOf(entry).schemas,
    prepare(entry) {
      const item = itemOf(entry);
      if (item.isReady) return undefined;
      item.ready ??= prepareAll(item);
      return item.ready;
    },
    forget: (name) => void items.delete(name),
  };
}
