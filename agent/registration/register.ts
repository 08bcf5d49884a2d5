/** Registers the node with the API server: creates its object, or adopts the existing one. */

import type { Node } from '#api/gen/core-v1.ts';
import type { Clock } from '#api/kit/clock.ts';
import type { Logger } from '#api/kit/logger.ts';
import type { Vocabulary } from '#api/vocabulary.ts';
import type { ApiClient } from '../api-client/client.ts';
import { ApiRequestError } from '../api-client/errors.ts';
import type { ServerContact } from '../api-client/server-contact.ts';
import type { ExtendedResources } from '../machine/extended-resources.ts';
import { adoptNode, withoutExtended } from './initial-node.ts';
import { nodeNames } from './node-names.ts';
import type { NodeEvent, StatusDecision } from './node-status.ts';
import { readNode } from './read-objects.ts';
import { REGISTER_RETRY, untilDone } from './retry.ts';
import { nodePatch } from './status-patch.ts';

export interface RegisterDeps {
  readonly client: Pick<ApiClient, 'create' | 'get' | 'patch'>;
  readonly clock: Clock;
  readonly log: Logger;
  readonly contact: ServerContact;
  /** Returns the node without its status. */
  readonly initial: () => Promise<Node>;
  readonly decide: (node: Node, signal: AbortSignal) => Promise<StatusDecision>;
  readonly emit: (events: readonly NodeEvent[]) => void;
  /** Extended resources of device plugins. */
  readonly extended?: () => ExtendedResources | undefined;
  /** Called when the server has stored the node. */
  readonly registered?: () => void;
}

const NODES = { apiVersion: 'v1', resource: 'nodes' };

/** Returns the node as stored by the server. Retries until it succeeds.
 *  @throws the reason of the signal only */
export async function registerNode(
  deps: RegisterDeps,
  vocabulary: Vocabulary,
  signal: AbortSignal,
): Promise<Node> {
  const { client, log } = deps;
  const names = nodeNames(vocabulary);

  async function adopt(initial: Node): Promise<Node> {
    const address = { ...NODES, name: initial.metadata?.name ?? '' };
    const existing = readNode(await client.get(address, signal), vocabulary);
    const adopted = adoptNode(existing, initial, names);
    const forgotten = deps.extended?.()?.forgotten === true;
    const known = forgotten ? withoutExtended(existing, vocabulary.domain) : existing;
    const { status, events } = await deps.decide(known, signal);
    const content = nodePatch(existing, { ...adopted, status });
    log.info({}, 'Node already registered');
    const node =
      content === undefined
        ? existing
        : readNode(
            await client.patch({ ...address, subresource: 'status' }, { type: 'strategic', content }, signal),
            vocabulary,
          );
    deps.emit(events);
    return node;
  }

  async function attempt(): Promise<Node> {
    const initial = await deps.initial();
    const { status, events } = await deps.decide(initial, signal);
    try {
      const created = await client.create(NODES, { ...initial, status }, signal);
      log.info({}, 'Node registered');
      deps.emit(events);
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
