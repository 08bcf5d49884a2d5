/** Sends requests until the timeout, and reports failures. */
import type { Random } from '../../testing/random.ts';
import { findError } from './judge.ts';
import type { PlaneChild } from './plane-child.ts';
import { type Ask, type Members, nextAsk, remember, type World } from './requests.ts';
import { type HttpResponse, send } from './send.ts';

export interface Finding {
  readonly error: string;
  readonly ask: string;
  readonly response: string;
}

export interface FuzzReport {
  readonly sent: number;
  /** Number of responses by status. */
  readonly statuses: Readonly<Record<number, number>>;
  /** One of each error. */
  readonly findings: readonly Finding[];
  readonly slowest: { readonly ms: number; readonly ask: string };
}

const AT_A_TIME = 12;
const MOST_FINDINGS = 12;
const SHOWN_CHARACTERS = 3000;

export async function fuzz(
  plane: PlaneChild,
  world: World,
  random: Random,
  forMs: number,
): Promise<FuzzReport> {
  const endMs = performance.now() + forMs;
  const statuses: Record<number, number> = {};
  const findings = new Map<string, Finding>();
  let sent = 0;
  let slowest = { ms: 0, ask: '' };
  async function one(): Promise<void> {
    const ask = nextAsk(world, random);
    sent += 1;
    try {
      const response = await send(plane, ask, random);
      statuses[response.status] = (statuses[response.status] ?? 0) + 1;
      if (response.tookMs > slowest.ms) slowest = { ms: response.tookMs, ask: show(ask) };
      learn(world, ask, response);
      const error = findError(ask, response);
      if (error !== undefined) note(error, ask, `${response.status} ${response.text}`);
    } catch (thrown) {
      note(`no response: ${String(thrown)}`, ask, '');
    }
  }
  function note(error: string, ask: Ask, response: string): void {
    if (findings.has(error) || findings.size >= MOST_FINDINGS) return;
    findings.set(error, { error, ask: show(ask), response: response.slice(0, SHOWN_CHARACTERS) });
  }
  const line = async (): Promise<void> => {
    while (performance.now() < endMs && plane.alive && findings.size < MOST_FINDINGS) await one();
  };
  await Promise.all(Array.from({ length: AT_A_TIME }, line));
  return { sent, statuses, findings: [...findings.values()], slowest };
}

/** Objects that the server shows are what later requests start from. */
function learn(world: World, { method, target }: Ask, { status, contentType, text }: HttpResponse): void {
  if (status >= 300 || method === 'DELETE' || !contentType.startsWith('application/json')) return;
  if (text.length > 20_000 || /[?&](watch|dryRun)/.test(target)) return;
  try {
    const object = JSON.parse(text) as Members;
    if (typeof object['metadata'] === 'object' && !('items' in object)) remember(world, target, object);
  } catch {
    // A stream that was cut.
  }
}

function show({ method, target, headers, body, raw }: Ask): string {
  const text = (bytes: Buffer | undefined): string =>
    bytes === undefined
      ? ''
      : bytes.length > SHOWN_CHARACTERS
        ? `${JSON.stringify(bytes.toString('latin1').slice(0, SHOWN_CHARACTERS))}… (${bytes.length} bytes)`
        : JSON.stringify(bytes.toString('latin1'));
  if (raw !== undefined) return text(raw);
  return `${method} ${target.slice(0, 500)} ${JSON.stringify(headers).slice(0, 500)} ${text(body)}`;
}
