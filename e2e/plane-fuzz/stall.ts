/** Measurement of the time that single requests block the server's event loop. They are sent one at a time. */
import type { Random } from '../../testing/random.ts';
import type { PlaneChild } from './plane-child.ts';
import type { Ask } from './requests.ts';
import { send } from './send.ts';

export interface Stall {
  readonly what: string;
  readonly ms: number;
}

/** Maximum time that a request may block the thread. */
const MOST_MS = 50;
/** Attempts per request; the shortest stall counts, since compilation and garbage collection are not its own. */
const ATTEMPTS = 5;

/** @param before sent before the request, without being measured */
async function stallOf(
  plane: PlaneChild,
  ask: Ask,
  random: Random,
  before: Ask | undefined,
): Promise<number> {
  if (before !== undefined) await send(plane, before, random);
  await plane.stallMs();
  await send(plane, ask, random);
  return plane.stallMs();
}

/** Sends each request alone.
 *  @param undoes by the names of requests that have an effect once only: what makes them repeatable
 *  @returns the longest stall, and those that were too long however often it was sent */
export async function measureStalls(
  plane: PlaneChild,
  asks: ReadonlyMap<string, Ask>,
  random: Random,
  undoes: ReadonlyMap<string, Ask> = new Map(),
): Promise<{ readonly longest: Stall; readonly tooLong: readonly Stall[] }> {
  let longest: Stall = { what: '', ms: 0 };
  const tooLong: Stall[] = [];
  for (const [what, ask] of asks) {
    let ms = Number.POSITIVE_INFINITY;
    for (let attempt = 0; attempt < ATTEMPTS && ms > MOST_MS; attempt += 1) {
      const before = attempt === 0 ? undefined : undoes.get(what);
      ms = Math.min(ms, await stallOf(plane, ask, random, before));
    }
    if (ms > longest.ms) longest = { what, ms };
    if (ms > MOST_MS) tooLong.push({ what, ms });
  }
  return { longest, tooLong };
}
