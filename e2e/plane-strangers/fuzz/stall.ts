/** How long single requests hold up the server's event loop. They are sent one at a time, so that it is known which. */
import type { Random } from '../../../testing/random.ts';
import type { PlaneChild } from './plane-child.ts';
import type { Ask } from './requests.ts';
import { send } from './send.ts';

export interface Stall {
  readonly what: string;
  readonly ms: number;
}

/** What any request may take of the thread at a time. */
const MOST_MS = 50;
/** Each name, item and value of a body costs something in each step: the longest bodies have a million of them. */
const MOST_MEMBER_US = 3;
/** What is compiled or collected meanwhile is not the request's doing: of several times, the least counts. */
const ATTEMPTS = 5;

const SEPARATORS = new Set<number>(Buffer.from(',:{['));

/** Milliseconds that a request may hold up the event loop for. */
function allowedMs({ body, headers }: Ask): number {
  const isJson = headers.some(([name, value]) => name === 'Content-Type' && value.includes('json'));
  let members = 0;
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
  asks: ReadonlyMap<string, Ask>,
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
