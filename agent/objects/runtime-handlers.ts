/** Resolves RuntimeClasses of the API server to handlers of the runtime. Reads them for each sandbox, which
 *  is rare. */
import type { Pod } from '#api/gen/core-v1.ts';
import type { ApiClient } from '../api-client/client.ts';
import { ApiRequestError } from '../api-client/errors.ts';
import type { ObjectKey } from './references.ts';
import type { SavedObjects } from './server-objects.ts';

export interface RuntimeHandlersDeps {
  readonly client: Pick<ApiClient, 'get'>;
  readonly saved: SavedObjects;
}

export interface RuntimeHandlers {
  /** @throws RuntimeClassError for a missing class; errors of the client */
  get(className: string): Promise<string>;
}

class RuntimeClassError extends Error {
  override readonly name = 'RuntimeClassError';
  readonly reason = 'RuntimeClassNotFound';
}

/** Key of a persisted class; a ConfigMap of the server always has a namespace, so the keys do not collide. */
const keyOf = (className: string): ObjectKey => ({
  kind: 'ConfigMap',
  namespace: '',
  name: `runtimeclass.${className}`,
});

/** Returns the keys persisted for the class of the pod. */
export function classKeys({ spec }: Pod): readonly ObjectKey[] {
  const { runtimeClassName = '' } = spec ?? {};
  return runtimeClassName === '' ? [] : [keyOf(runtimeClassName)];
}

/** @param apiVersion of RuntimeClasses, in the vocabulary of the server */
export function createRuntimeHandlers(
  { client, saved }: RuntimeHandlersDeps,
  apiVersion: string,
): RuntimeHandlers {
  const handlerIn = (object: unknown): string => {
    const handler: unknown =
      typeof object === 'object' && object !== null ? Reflect.get(object, 'handler') : '';
    return typeof handler === 'string' ? handler : '';
  };
  const { signal } = new AbortController();
  return {
    async get(className) {
      try {
        const found = await client.get({ apiVersion, resource: 'runtimeclasses', name: className }, signal);
        saved.save(keyOf(className), { handler: handlerIn(found) });
        return handlerIn(found);
      } catch (thrown) {
        if (thrown instanceof ApiRequestError && thrown.status === 404) {
          throw new RuntimeClassError(`RuntimeClass ${JSON.stringify(className)} was not found`);
        }
        const known = await saved.load(keyOf(className));
        if (known === undefined) throw thrown;
        return handlerIn(known);
      }
    },
  };
}
