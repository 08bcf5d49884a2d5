/** Fingerprints of a document's content for some resources, computed without building the document. A
 *  resource is never changed in place, so that its fingerprint is valid as long as it exists. */
import { createHash } from 'node:crypto';
import type { Resource } from '../resources/contract.ts';
import { createTurns } from './turns.ts';

/** Incremented when the documents of unchanged resources change. */
const FORMAT = 2;

export interface FingerprintDeps {
  /** Name and version of the program, and the vocabulary. */
  readonly program: string;
}

export type Fingerprint = (resources: readonly Resource[]) => Promise<string>;

const hashOf = (text: string): string => createHash('sha256').update(text).digest('hex');

export function createFingerprint({ program }: FingerprintDeps): Fingerprint {
  const known = new WeakMap<Resource, string>();

  function fingerprint(resource: Resource): string {
    const found = known.get(resource);
    if (found !== undefined) return found;
    const { info, schema } = resource;
    const { columns: _, ...said } = info;
    const content = { ...said, subresources: [...info.subresources.values()], type: schema.typeRef };
    const custom = schema.typeRef === undefined ? schema.describe?.() : undefined;
    const made = hashOf(JSON.stringify([content, custom]));
    known.set(resource, made);
    return made;
  }

  return async (resources) => {
    const turn = createTurns();
    const hashes: string[] = [];
    for (const resource of resources) {
      hashes.push(fingerprint(resource));
      const pause = turn();
      if (pause !== undefined) await pause;
    }
    return hashOf(JSON.stringify([FORMAT, program, hashes.toSorted()]));
  };
}
