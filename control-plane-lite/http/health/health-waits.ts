/** Lists pending start conditions in the verbose output of the health endpoints, before the last line, which
 *  stays the verdict. */
import { formatWait, type Waits } from '#api/kit/waits.ts';
import type { PathRoute } from '../contract.ts';

export interface HealthWaitsDeps {
  readonly waits: Pick<Waits, 'lasting'>;
  readonly now: () => number;
}

export function withWaits(
  routes: readonly PathRoute[],
  { waits, now }: HealthWaitsDeps,
): readonly PathRoute[] {
  return routes.map((route) => ({
    ...route,
    async handler(request) {
      const response = await route.handler(request);
      const isWhole = request.info.path.replace(/\/$/, '') === route.path;
      if (!isWhole || !request.query.has('verbose') || response.kind !== 'bytes') return response;
      const lines = waits.lasting().map((wait) => `waiting for ${formatWait(wait, now())}\n`);
      const [body] = [response.body].flat();
      if (lines.length === 0 || body === undefined) return response;
      const all = body.toString('utf8').split(/(?<=\n)/);
      return { ...response, body: Buffer.from(all.toSpliced(-1, 0, ...lines).join('')) };
    },
  }));
}
