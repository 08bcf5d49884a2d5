/** Sends audit events to a service, as lists. */

import { type Clock, sleep } from '#api/kit/clock.ts';
import { asError } from '#api/kit/errno.ts';
import type { Backend } from '../../webhooks/backend.ts';
import { type AuditBackend, type BackendOptions, createBackend } from './backend.ts';

export interface WebhookBackendDeps {
  readonly clock: Clock;
  readonly service: Backend;
  readonly onLost: (error: Error, count: number) => void;
}

export interface WebhookBackendOptions extends BackendOptions {
  /** Of the list: `audit.<domain>/v1`. */
  readonly apiVersion: string;
  readonly initialBackoffMs: number;
}

/** Upstream's: five attempts, each wait 1.5 times the one before. */
const ATTEMPTS = 5;
const FACTOR = 1.5;
/** Upstream's client has no limit of its own; a service that never responds must not hold events forever. */
const REQUEST_MS = 30_000;

export function createWebhookBackend(deps: WebhookBackendDeps, options: WebhookBackendOptions): AuditBackend {
  const { clock, service, onLost } = deps;
  const { apiVersion, initialBackoffMs } = options;
  const head = `{"kind":"EventList","apiVersion":${JSON.stringify(apiVersion)},"metadata":{},"items":[`;
  const closing = new AbortController();

  async function send(lines: readonly string[]): Promise<void> {
    const body = `${head}${lines.join(',')}]}`;
    for (let attempt = 1; ; attempt += 1) {
      try {
        await service.post(body, AbortSignal.timeout(REQUEST_MS));
        return;
      } catch (thrown) {
        // At the end, events get one attempt.
        if (attempt === ATTEMPTS || closing.signal.aborted) throw asError(thrown);
        await sleep(clock, initialBackoffMs * FACTOR ** (attempt - 1), closing.signal).catch(() => undefined);
      }
    }
  }

  const backend = createBackend(
    { clock, name: 'webhook', format: ({ line }) => line, send, onLost, close: () => service.close() },
    options,
  );
  return {
    ...backend,
    async close() {
      closing.abort();
      await backend.close();
    },
  };
}
