/** Reports the node's status: what changed at once, and all is well every few minutes. */
import { createBackoff } from '#api/kit/backoff.ts';
import { asError, type Clock } from '#api/kit/clock.ts';
import type { Logger } from '#api/kit/logger.ts';
import { createLoop } from '#api/kit/loop.ts';
import type { Node } from '#api/schema/gen/core-v1.ts';
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
  /** The node as the server has it; undefined while there is none. */
  readonly node: () => Node | undefined;
  /** Takes the node as the server answered. */
  readonly note: (node: Node) => void;
  /** The status that a node should have now. */
  readonly decide: (node: Node, signal: AbortSignal) => Promise<StatusDecision>;
  readonly tell: (events: readonly NodeEvent[]) => void;
  /** Told of each status that the server has. */
  readonly reported: (node: Node) => void;
}

export interface StatusReporterOptions {
  readonly nodeName: string;
  readonly vocabulary: Vocabulary;
  /** How often the status is worked out, in ms. */
  readonly updateMs: number;
  /** How often it is reported without a change, in ms. */
  readonly reportMs: number;
}

export interface StatusReporter {
  /** Asks for a look now. */
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
      const answer = await client.patch(address, { type: 'strategic', content }, signal);
      deps.note(readNode(answer, vocabulary));
    }
    contact.succeeded(SUBJECT);
    backoff.reset(SUBJECT);
    reportedAtMs = clock.monotonic();
    // Told when the server knows: otherwise each try would tell it again.
    deps.tell(events);
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
    onError: (thrown) => log.error({ err: asError(thrown) }, 'Status of the node could not be told'),
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
