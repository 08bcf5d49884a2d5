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

async function stallOf(plane: PlaneChild, ask: Ask, random: Random): Promise<number> {
  await plane.stallMs();
  await send(plane, ask, random);
  return plane.stallMs();
}

/** Sends each request alone. @returns the longest stall, and those that were too long however often it was sent */
export async function measureStalls(
  plane: PlaneChild,
  asks: ReadonlyMap<string, Ask>,
  random: Random,
): Promise<{ readonly longest: Stall; readonly tooLong: readonly Stall[] }> {
  let longest: Stall = { what: '', ms: 0 };
  const tooLong: Stall[] = [];
  for (const [what, ask] of asks) {
    let ms = Number.POSITIVE_INFINITY;
    for (let attempt = 0; attempt < ATTEMPTS && ms > MOST_MS; attempt += 1) {
      ms = Math.min(ms, await stallOf(plane, ask, random));
    }
    if (ms > longest.ms) longest = { what, ms };
    if (ms > MOST_MS) tooLong.push({ what, ms });
  }
  return { longest, tooLong };
}
