/** Persisted tokens of pods: one file per pod, removed with the pod. */

import { isObject } from '#api/kit/object.ts';
import type { Json } from '../api-client/client.ts';
import type { AccountToken, SavedTokens } from './account-tokens.ts';
import type { ObjectKey } from './references.ts';
import type { SavedObjects } from './server-objects.ts';

/** Stored as a Secret without a namespace, which no Secret of a server can be. */
export const tokensKey = (podUID: string): ObjectKey => ({ kind: 'Secret', namespace: '', name: podUID });

function parse(value: unknown): AccountToken | undefined {
  if (!isObject(value)) return undefined;
  const { token, issuedAtMs, expiresAtMs } = value;
  if (typeof token !== 'string' || typeof issuedAtMs !== 'number' || typeof expiresAtMs !== 'number') {
    return undefined;
  }
  return { token, issuedAtMs, expiresAtMs };
}

export function createSavedTokens(saved: SavedObjects): SavedTokens {
  /** Content of each file once pending writes have finished. */
  const known = new Map<string, Promise<Json>>();

  const read = async (podUID: string): Promise<Json> => (await saved.load(tokensKey(podUID))) ?? {};

  async function write(podUID: string, all: Promise<Json>): Promise<void> {
    const tokens = await all;
    // More tokens may have been added.
    if (known.get(podUID) === all) saved.save(tokensKey(podUID), tokens);
  }

  return {
    async load(podUID, key) {
      const all = await (known.get(podUID) ?? read(podUID));
      return parse(all[key]);
    },
    save(podUID, key, token) {
      // Retain the tokens of an earlier agent.
      const before = known.get(podUID) ?? read(podUID).catch(() => ({}));
      const all = before.then((others): Json => ({ ...others, [key]: token }));
      known.set(podUID, all);
      void write(podUID, all);
    },
    retainOnly(podUIDs) {
      for (const uid of known.keys()) if (!podUIDs.has(uid)) known.delete(uid);
    },
  };
}
