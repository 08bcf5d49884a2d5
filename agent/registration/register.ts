/** Makes the node known to the API server: creates its object, or takes over the one that is there. */
import type { Clock } from '#api/kit/clock.ts';
import type { Logger } from '#api/kit/logger.ts';
import type { Node } from '#api/schema/gen/core-v1.ts';
import type { Vocabulary } from '#api/vocabulary.ts';
import type { ApiClient } from '../api-client/client.ts';
import { ApiRequestError } from '../api-client/errors.ts';
import type { ServerContact } from '../api-client/server-contact.ts';
import type { ExtendedResources } from '../resources/contract.ts';
import { adoptNode, withoutExtended } from './initial-node.ts';
import type { NodeEvent, StatusDecision } from './node-status.ts';
import { readNode } from './read-objects.ts';
import { REGISTER_RETRY, untilDone } from './retry.ts';
import { nodePatch } from './status-patch.ts';
import { nodeWords } from './words.ts';

export interface RegisterDeps {
  readonly client: Pick<ApiClient, 'create' | 'get' | 'patch'>;
  readonly clock: Clock;
  readonly log: Logger;
  readonly contact: ServerContact;
  /** The node without its status. */
  readonly initial: () => Promise<Node>;
  readonly decide: (node: Node, signal: AbortSignal) => Promise<StatusDecision>;
  readonly tell: (events: readonly NodeEvent[]) => void;
  /** Devices of plugins. */
  readonly extended?: () => ExtendedResources | undefined;
  /** Told when the server has the node. */
  readonly registered?: () => void;
}

const NODES = { apiVersion: 'v1', resource: 'nodes' };

/** The node as the server has it. Tries until it succeeds.
 *  @throws the signal's reason only */
export async function registerNode(
  deps: RegisterDeps,
  vocabulary: Vocabulary,
  signal: AbortSignal,
): Promise<Node> {
  const { client, log } = deps;
  const words = nodeWords(vocabulary);

  async function adopt(initial: Node): Promise<Node> {
    const address = { ...NODES, name: initial.metadata?.name ?? '' };
    const existing = readNode(await client.get(address, signal), vocabulary);
    const adopted = adoptNode(existing, initial, words);
    const forgotten = deps.extended?.()?.forgotten === true;
    const known = forgotten ? withoutExtended(existing, vocabulary.domain) : existing;
    const { status, events } = await deps.decide(known, signal);
    const content = nodePatch(existing, { ...adopted, status });
    log.info({}, 'Node was registered before');
    const node =
      content === undefined
        ? existing
        : readNode(
            await client.patch({ ...address, subresource: 'status' }, { type: 'strategic', content }, signal),
            vocabulary,
          );
    deps.tell(events);
    return node;
  }

  async function attempt(): Promise<Node> {
    const initial = await deps.initial();
    const { status, events } = await deps.decide(initial, signal);
    try {
      const created = await client.create(NODES, { ...initial, status }, signal);
      log.info({}, 'Node was registered');
      deps.tell(events);
      return readNode(created, vocabulary);
    } catch (thrown) {
      if (!(thrown instanceof ApiRequestError) || thrown.status !== 409) throw thrown;
      return await adopt(initial);
    }
  }

  const node = await untilDone(deps, { subject: 'registration', policy: REGISTER_RETRY }, attempt, signal);
  deps.registered?.();
  return node;
}
