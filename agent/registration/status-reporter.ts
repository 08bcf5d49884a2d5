/** Reports the node status: changes at once, an unchanged status every few minutes. */

import type { Node } from '#api/gen/core-v1.ts';
import { createBackoff } from '#api/kit/backoff.ts';
import type { Clock } from '#api/kit/clock.ts';
import { asError } from '#api/kit/errno.ts';
import type { Logger } from '#api/kit/logger.ts';
import { createLoop } from '#api/kit/loop.ts';
import type { Vocabulary } from '#api/vocabulary.ts';
import type { ApiClient } from '../api-client/client.ts';
import type { ServerContact } from '../api-client/server-contact.ts';
import type { NodeEvent, StatusDecision } from './node-status.ts';
import { readNode } from './read-objects.ts';
import { nodePatch, statusChanged } from './status-patch.ts';

export interface StatusReporterDeps {
  readonly client: Pick<ApiClient, 'patch'>;
  readonly clock: Clock;
  readonly log: Logger;
  readonly contact: ServerContact;
  /** The node as stored by the server; undefined while it does not exist. */
  readonly node: () => Node | undefined;
  /** Stores the node of a response. */
  readonly note: (node: Node) => void;
  /** Returns the desired status of a node. */
  readonly decide: (node: Node, signal: AbortSignal) => Promise<StatusDecision>;
  readonly emit: (events: readonly NodeEvent[]) => void;
  /** Called with each status stored by the server. */
  readonly reported: (node: Node) => void;
}

export interface StatusReporterOptions {
  readonly nodeName: string;
  readonly vocabulary: Vocabulary;
  /** Interval of computing the status, in ms. */
  readonly updateMs: number;
  /** Interval of reports without a change, in ms. */
  readonly reportMs: number;
}

export interface StatusReporter {
  /** Triggers a check now. */
  readonly wake: () => void;
  /** Reports until the signal fires. Never rejects. */
  readonly run: (signal: AbortSignal) => Promise<void>;
}

const FIRST_RETRY_MS = 200;
const SUBJECT = 'status';

export function createStatusReporter(
  deps: StatusReporterDeps,
  options: StatusReporterOptions,
): StatusReporter {
  const { client, clock, log, contact } = deps;
  const { nodeName, vocabulary, updateMs, reportMs } = options;
  const address = { apiVersion: 'v1', resource: 'nodes', name: nodeName, subresource: 'status' };
  const backoff = createBackoff({ initialMs: FIRST_RETRY_MS, maxMs: updateMs, jitter: 0.1 });
  let reportedAtMs = Number.NEGATIVE_INFINITY;

  async function send(node: Node, { status, events }: StatusDecision, signal: AbortSignal): Promise<void> {
    const content = nodePatch(node, { ...node, status });
    if (content !== undefined) {
      const response = await client.patch(address, { type: 'strategic', content }, signal);
      deps.note(readNode(response, vocabulary));
    }
    contact.succeeded(SUBJECT);
    backoff.reset(SUBJECT);
    reportedAtMs = clock.monotonic();
    // Emitted after the server has stored the status: each retry would emit them again otherwise.
    deps.emit(events);
  }

  async function step(signal: AbortSignal): Promise<number | undefined> {
    const node = deps.node();
    if (node === undefined) return clock.now() + updateMs;
    const decision = await deps.decide(node, signal);
    const due = clock.monotonic() - reportedAtMs >= reportMs;
    if (due || statusChanged(node.status ?? {}, decision.status)) {
      try {
        await send(node, decision, signal);
      } catch (thrown) {
        if (signal.aborted) return undefined;
        contact.failed(SUBJECT, thrown);
        return clock.now() + backoff.fail(SUBJECT, clock.now());
      }
    }
    deps.reported(deps.node() ?? node);
    return clock.now() + updateMs;
  }

  const loop = createLoop({
    clock,
    step,
    onError: (thrown) => log.error({ err: asError(thrown) }, 'Failed to report node status'),
    retryMs: updateMs,
  });
  return {
    wake: () => loop.wake(),
    run(signal) {
      loop.wake();
      return loop.run(signal);
    },
  };
}
