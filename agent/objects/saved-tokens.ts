/** Tokens of pods among the saved objects: one file a pod, which goes with the pod. */
import type { Json } from '../api-client/client.ts';
import { isObject } from '../api-client/object-fields.ts';
import type { AccountToken, SavedTokens } from './account-tokens.ts';
import type { ObjectKey } from './references.ts';
import type { SavedObjects } from './server-objects.ts';

/** Kept as a Secret of a name that no Secret of a server has: it would need a namespace. */
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
  const known = new Map<string, Json>();
  return {
    async load(podUID, key) {
      const all = known.get(podUID) ?? (await saved.load(tokensKey(podUID)));
      return parse(all?.[key]);
    },
    save(podUID, key, token) {
      const all = { ...known.get(podUID), [key]: token };
      known.set(podUID, all);
      saved.save(tokensKey(podUID), all);
    },
  };
}
