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
/** V8 lists the keys of an object, writes an object as JSON and makes a copy of one in one piece: of the three hundred
 *  thousand members that fit into a body, and of those of the stored object that it is about, each costs something. */
const MOST_MEMBER_US = 1;
/** What is compiled or collected meanwhile is not the request's doing: of several times, the least counts. */
const ATTEMPTS = 5;

const SEPARATORS = new Set<number>(Buffer.from(',:{['));

/** A request, and how many names, items and values the stored object has that it is about. */
export type WideAsk = Ask & { readonly stored?: number };

/** Milliseconds that a request may hold up the event loop for. */
function allowedMs({ body, headers, stored = 0 }: WideAsk): number {
  const isJson = headers.some(([name, value]) => name === 'Content-Type' && /json|apply-patch/.test(value));
  let members = stored;
  if (isJson) for (const byte of body ?? []) if (SEPARATORS.has(byte)) members += 1;
  return MOST_MS + (members * MOST_MEMBER_US) / 1000;
}

async function stallOf(plane: PlaneChild, ask: Ask, random: Random): Promise<number> {
  await plane.stallMs();
  await send(plane, ask, random);
  return plane.stallMs();
}

/** Sends each request alone. @returns the longest stall, and those that were too long however often it was sent */
export async function measureStalls(
  plane: PlaneChild,
  asks: ReadonlyMap<string, WideAsk>,
  random: Random,
): Promise<{ readonly longest: Stall; readonly tooLong: readonly Stall[] }> {
  let longest: Stall = { what: '', ms: 0 };
  const tooLong: Stall[] = [];
  for (const [what, ask] of asks) {
    const allowed = allowedMs(ask);
    let ms = Number.POSITIVE_INFINITY;
    for (let attempt = 0; attempt < ATTEMPTS && ms > allowed; attempt += 1) {
      ms = Math.min(ms, await stallOf(plane, ask, random));
    }
    if (ms > longest.ms) longest = { what, ms };
    if (ms > allowed) tooLong.push({ what, ms });
  }
  return { longest, tooLong };
}
