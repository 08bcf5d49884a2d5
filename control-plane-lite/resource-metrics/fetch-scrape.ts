/** One scrape of a node's agent: over TLS, with limits of time and size, read as it arrives. */
import { type IncomingMessage } from 'node:http';
import { type Agent, request as httpsRequest } from 'node:https';
import type { Clock } from '#api/kit/clock.ts';
import type { Target } from '../agents/agents.ts';
import type { NodeConnections } from './node-connections.ts';
import type { Scrape } from './points.ts';
import { createScrapeReader, ScrapeError } from './scrape-reader.ts';

export interface FetchDeps {
  /** @throws StatusError */
  readonly find: NodeConnections['find'];
  readonly clock: Clock;
}

/** Longest scrape. */
const TIMEOUT_MS = 10_000;
const PATH = '/metrics/resource';

function responseOf(target: Target, agent: Agent, signal: AbortSignal): Promise<IncomingMessage> {
  const { host, port } = target;
  return new Promise((resolve, reject) => {
    const outgoing = httpsRequest({ host, port, path: PATH, agent, signal, method: 'GET' });
    outgoing.once('response', resolve);
    // Stays for what goes wrong later, which the response reports itself.
    outgoing.on('error', reject);
    outgoing.end();
  });
}

async function read(response: IncomingMessage, receivedMs: number): Promise<Scrape> {
  const status = response.statusCode ?? 0;
  if (status !== 200) {
    response.destroy();
    throw new ScrapeError(`the node agent responded with status ${status}`);
  }
  const reader = createScrapeReader(receivedMs);
  for await (const chunk of response as AsyncIterable<Buffer>) reader.write(chunk);
  return reader.end();
}

/** @throws Error */
export async function fetchScrape(
  { find, clock }: FetchDeps,
  node: string,
  signal: AbortSignal,
): Promise<Scrape> {
  const late = new AbortController();
  const timer = clock.setTimer(
    () => late.abort(new ScrapeError(`the node agent did not respond within ${TIMEOUT_MS} ms`)),
    TIMEOUT_MS,
  );
  try {
    const { target, agent } = await find(node, signal);
    const either = AbortSignal.any([signal, late.signal]);
    return await read(await responseOf(target, agent, either), clock.now());
  } catch (thrown) {
    throw late.signal.aborted ? late.signal.reason : thrown;
  } finally {
    timer.cancel();
  }
}
