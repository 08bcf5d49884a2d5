/** Which handler of the runtime a RuntimeClass of the API server means. Read for each sandbox, which is seldom. */
import type { Pod } from '#api/schema/gen/core-v1.ts';
import type { ApiClient } from '../api-client/client.ts';
import { ApiRequestError } from '../api-client/errors.ts';
import type { ObjectKey } from './references.ts';
import type { SavedObjects } from './server-objects.ts';

export interface RuntimeHandlersDeps {
  readonly client: Pick<ApiClient, 'get'>;
  readonly saved: SavedObjects;
}

export interface RuntimeHandlers {
  /** @throws RuntimeClassError where there is no such class; what the client throws */
  get(className: string): Promise<string>;
}

export class RuntimeClassError extends Error {
  override readonly name = 'RuntimeClassError';
  readonly reason = 'RuntimeClassNotFound';
}

/** A class is kept among the saved objects under a name that no ConfigMap of a server has: that has a namespace. */
const keyOf = (className: string): ObjectKey => ({
  kind: 'ConfigMap',
  namespace: '',
  name: `runtimeclass.${className}`,
});

/** What is saved for the pod's class. */
export function classKeys({ spec }: Pod): readonly ObjectKey[] {
  const { runtimeClassName = '' } = spec ?? {};
  return runtimeClassName === '' ? [] : [keyOf(runtimeClassName)];
}

/** @param apiVersion of RuntimeClasses, in the server's vocabulary */
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
