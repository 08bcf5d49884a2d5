/** Reports the CSI drivers of the node to the server: first their topology as node labels, then the CSINode.
 *  An unavailable or rejecting server never blocks a volume. */

import type { Node } from '#api/gen/core-v1.ts';
import type { CSINode } from '#api/gen/storage-v1.ts';
import { type BackoffPolicy, createBackoff } from '#api/kit/backoff.ts';
import { type Clock, sleep } from '#api/kit/clock.ts';
import { asError } from '#api/kit/errno.ts';
import type { Logger } from '#api/kit/logger.ts';
import { decode } from '#api/schema/decode.ts';
import { VOCABULARIES, type Vocabulary } from '#api/vocabulary.ts';
import type { Drivers } from '#volumes/contract/csi.ts';
import type { ApiClient, Json } from '../api-client/client.ts';
import { ApiRequestError } from '../api-client/errors.ts';
import { driverSteps, migrationAnnotation, newCsiNode, nodeChange } from './decide-node.ts';

const KIND = `storage.${VOCABULARIES.plat.apiGroupDomain}/v1.CSINode`;
const LENIENT = { unknownFields: 'ignore', missingFields: 'ignore' } as const;
const RETRY: BackoffPolicy = { initialMs: 500, maxMs: 60_000, jitter: 0.2 };

export interface CsiNodeDeps {
  readonly client: Pick<ApiClient, 'get' | 'create' | 'update' | 'patch'>;
  readonly whenNode: (signal: AbortSignal) => Promise<Node>;
  readonly drivers: Pick<Drivers, 'list' | 'onChange'>;
  /** Resolves when every plugin that existed at the start has been queried once. */
  readonly whenSettled: Promise<void>;
  readonly clock: Clock;
  readonly log: Logger;
}

export interface CsiNodeOptions {
  readonly vocabulary: Vocabulary;
  readonly gates: ReadonlySet<string>;
}

/** Keeps CSINode and labels up to date until the signal fires. Never rejects. */
export async function runCsiNode(
  deps: CsiNodeDeps,
  { vocabulary, gates }: CsiNodeOptions,
  signal: AbortSignal,
): Promise<void> {
  const { client, drivers, clock, log } = deps;
  const apiVersion = `storage.${vocabulary.apiGroupDomain}/v1`;
  const resource = { apiVersion, resource: 'csinodes' };
  const backoff = createBackoff(RETRY);
  let settled = false;

  const read = (object: Json): CSINode => decode<CSINode>(KIND, object, { ...LENIENT, vocabulary }).value;

  async function csiNode(node: Node): Promise<CSINode> {
    const name = node.metadata?.name ?? '';
    try {
      return read(await client.get({ ...resource, name }, signal));
    } catch (thrown) {
      if (!(thrown instanceof ApiRequestError) || thrown.status !== 404) throw thrown;
      const rules = { domain: vocabulary.domain, gates, settled };
      return read(await client.create(resource, { ...newCsiNode(node, apiVersion, rules) }, signal));
    }
  }

  async function updateCsiNode(node: Node, registered: ReturnType<Drivers['list']>): Promise<void> {
    const rules = { domain: vocabulary.domain, gates, settled };
    let known = await csiNode(node);
    const annotations = { ...known.metadata?.annotations, ...migrationAnnotation(rules) };
    const steps = driverSteps(known.spec.drivers, registered, rules);
    const isAnnotated = Object.entries(annotations).every(
      ([key, text]) => known.metadata?.annotations?.[key] === text,
    );
    const states = steps.length === 0 && !isAnnotated ? [known.spec.drivers] : steps;
    for (const state of states) {
      const next = { ...known, apiVersion, kind: 'CSINode', metadata: { ...known.metadata, annotations } };
      const address = { ...resource, name: known.metadata?.name ?? '' };
      known = read(await client.update(address, { ...next, spec: { drivers: state } }, signal));
    }
  }

  async function update(): Promise<void> {
    const node = await deps.whenNode(signal);
    const all = drivers.list();
    const { change, misplaced } = nodeChange(node, all, { domain: vocabulary.domain, gates, settled });
    if (misplaced.length > 0) {
      log.warn({ drivers: misplaced }, 'CSI driver topology conflicts with node labels');
    }
    if (change !== undefined) {
      const address = { apiVersion: 'v1', resource: 'nodes', name: node.metadata?.name ?? '' };
      await client.patch(address, { type: 'merge', content: { metadata: change } }, signal);
    }
    await updateCsiNode(
      node,
      all.filter(({ name }) => !misplaced.includes(name)),
    );
  }

  let changed = Promise.withResolvers<void>();
  const end = drivers.onChange(() => changed.resolve());
  void deps.whenSettled.then(() => {
    settled = true;
    changed.resolve();
    return undefined;
  });
  const stopped = new Promise<void>((resolve) => {
    signal.addEventListener('abort', () => resolve(), { once: true });
  });
  while (!signal.aborted) {
    changed = Promise.withResolvers();
    try {
      await update();
      backoff.reset('register');
      await Promise.race([changed.promise, stopped]);
    } catch (thrown) {
      if (signal.aborted) break;
      const retryMs = backoff.fail('register', clock.now());
      log.warn({ err: asError(thrown), retryMs }, 'Failed to update CSINode');
      await sleep(clock, retryMs, signal).catch(() => undefined);
    }
  }
  end();
}
