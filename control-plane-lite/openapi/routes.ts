/** `/openapi/v2`, and `/openapi/v3` with what is below it. Many servers are never asked for them: what makes the
 *  documents is loaded with the first request. */
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Vocabulary } from '#api/vocabulary.ts';
import type { PathRoute } from '../http/contract.ts';
import type { ResourceRegistry } from '../resources/registry.ts';
import type { Answers } from './answers.ts';
import type { OtherDocuments } from './others.ts';

export interface OpenApiDeps {
  readonly vocabulary: Vocabulary;
  readonly registry: Pick<ResourceRegistry, 'all' | 'generation'>;
  /** Name and version of the program: clients ask again for what another one described. */
  readonly product: string;
  /** What other servers say of themselves. */
  readonly others?: OtherDocuments;
}

export function createOpenApiRoutes(deps: OpenApiDeps): readonly PathRoute[] {
  let loading: Promise<Answers> | undefined;
  async function load(): Promise<Answers> {
    // In two turns: all of it at once would hold others up.
    await import('./documents.ts');
    await nextTurn();
    const { createAnswers } = await import('./answers.ts');
    return createAnswers(deps);
  }
  const answers = (): Promise<Answers> => {
    loading ??= load();
    return loading;
  };
  const methods = ['GET'];
  return [
    { path: '/openapi/v2', methods, handler: async (request) => (await answers()).version2(request) },
    {
      path: '/openapi/v3',
      below: true,
      methods,
      handler: async (request) => (await answers()).version3(request),
    },
  ];
}
