/** The benchmark's view of the API server: requests as administrator, a watch, and the server's metrics. */
import { Agent, request } from 'undici';
import type { Target } from '../plane/http-client.ts';
import { parseVerbCounts, type VerbCounts } from './verb-times.ts';

export interface ServerFigures {
  readonly verbs: VerbCounts;
  /** Maximum and 99th percentile of the event loop lag since the last read, in ms. */
  readonly loopMaxMs: number;
  readonly loopP99Ms: number;
}

export interface ServerView extends AsyncDisposable {
  /** @throws Error for a response with an error status */
  call(method: 'GET' | 'POST' | 'PATCH' | 'DELETE', path: string, body?: unknown): Promise<unknown>;
  /** Passes on each event of a watch until the signal fires. */
  watch(path: string, onEvent: (event: unknown) => void, signal: AbortSignal): Promise<void>;
  /** Reports whether the initial objects of a server exist. */
  ready(): Promise<boolean>;
  figures(): Promise<ServerFigures>;
}

const MERGE_PATCH = 'application/merge-patch+json';

export function openServerView({ port, ca, cert, key }: Target): ServerView {
  const connect = { ca, cert, key, servername: 'localhost' };
  const dispatcher = new Agent({ connect, connections: 16, bodyTimeout: 0 });
  const origin = `https://127.0.0.1:${port}`;

  async function text(
    method: 'GET' | 'POST' | 'PATCH' | 'DELETE',
    path: string,
    body?: unknown,
  ): Promise<string> {
    const contentType = method === 'PATCH' ? MERGE_PATCH : 'application/json';
    const response = await request(origin + path, {
      dispatcher,
      method,
      ...(body === undefined ? {} : { body: JSON.stringify(body), headers: { 'content-type': contentType } }),
    });
    const content = await response.body.text();
    if (response.statusCode < 300) return content;
    throw new Error(`${method} ${path}: ${response.statusCode} ${content}`);
  }

  return {
    async call(method, path, body) {
      const response: unknown = JSON.parse(await text(method, path, body));
      return response;
    },
    async watch(path, onEvent, signal) {
      const response = await request(origin + path, { dispatcher, signal });
      let rest = '';
      try {
        response.body.setEncoding('utf8');
        for await (const piece of response.body) {
          const lines = (rest + String(piece)).split('\n');
          rest = lines.pop() ?? '';
          for (const line of lines) if (line !== '') onEvent(JSON.parse(line));
        }
      } catch (thrown) {
        if (!signal.aborted) throw thrown;
      }
    },
    ready: () =>
      text('GET', '/readyz').then(
        () => true,
        () => false,
      ),
    async figures() {
      const metrics = await text('GET', '/metrics');
      return {
        verbs: parseVerbCounts(metrics),
        loopMaxMs: lagMs(metrics, 'max'),
        loopP99Ms: lagMs(metrics, 'p99'),
      };
    },
    [Symbol.asyncDispose]: () => dispatcher.destroy(),
  };
}

function lagMs(metrics: string, value: string): number {
  const found = new RegExp(`^nodejs_eventloop_lag_seconds\\{value="${value}"\\} (\\S+)$`, 'm').exec(
    metrics,
  )?.[1];
  return Number(found ?? Number.NaN) * 1000;
}
