/** Routes `/openapi/v2`, and `/openapi/v3` with the paths below it. Many servers never receive such a
 *  request: the code that builds the documents is loaded with the first one. */

import { setImmediate as nextTurn } from 'node:timers/promises';
import type { PathRoute } from '../http/contract.ts';
import type { OpenApiDeps } from './deps.ts';
import type { Responses } from './responses.ts';

export function createOpenApiRoutes(deps: OpenApiDeps): readonly PathRoute[] {
  let loading: Promise<Responses> | undefined;
  async function load(): Promise<Responses> {
    // In two turns: all of it at once would hold others up.
    await import('./documents.ts');
    await nextTurn();
    const { createResponses } = await import('./responses.ts');
    return createResponses(deps);
  }
  const responses = (): Promise<Responses> => {
    loading ??= load();
    return loading;
  };
  const methods = ['GET'];
  const version2: PathRoute = {
    path: '/openapi/v2',
    methods,
    handler: async (request) => (await responses()).version2(request),
  };
  if (deps.version3 === false) return [version2];
  return [
    version2,
    {
      path: '/openapi/v3',
      below: true,
      methods,
      handler: async (request) => (await responses()).version3(request),
    },
  ];
}
