/** Bootstrap signer: maintains the cluster-info ConfigMap and its signatures, one per token that allows
 *  signing. Source: cluster-info, document 2 §5.9 (5). */

import { isDeepStrictEqual } from 'node:util';
import type { ConfigMap } from '#api/gen/core-v1.ts';
import type { Vocabulary } from '#api/vocabulary.ts';
import { type BootstrapToken, readBootstrapSecret } from '../../authn/bootstrap-secret.ts';
import type { ApiObject } from '../../resources/contract.ts';
import { typed } from '../../resources/view.ts';
import { type Controller, type ControllerContext, defineController } from '../skeleton/declaration.ts';
import type { ClusterInfoSettings } from '../skeleton/settings.ts';
import { CLUSTER_INFO, CLUSTER_KEY, withSignatures } from './cluster-info.ts';
import { isNamedAsToken } from './deps.ts';

/** Value of the label of a ConfigMap that a server created. */
const CREATED_BY_SERVER = 'cluster-info';

async function signingTokens(context: ControllerContext): Promise<readonly BootstrapToken[]> {
  const { clock, vocabulary } = context;
  const selection = { namespace: vocabulary.systemNamespace, labels: [], fields: [] };
  const { items } = await context.cacheOf('secrets').list(selection);
  return items
    .filter((item) => isNamedAsToken(item, vocabulary))
    .flatMap((item) => readBootstrapSecret(item.object(), vocabulary) ?? [])
    .filter(({ signing, expiresMs }) => signing && expiresMs > clock.now());
}

/** Returns the desired data; `undefined`: another owner created the ConfigMap and has not yet written the
 *  content to sign. */
function desiredData(
  { vocabulary }: ControllerContext,
  { content, reset }: ClusterInfoSettings,
  map: ApiObject | undefined,
  tokens: readonly BootstrapToken[],
): Readonly<Record<string, string>> | undefined {
  if (map === undefined) return withSignatures({ [CLUSTER_KEY]: content() }, tokens, vocabulary);
  const { data = {}, metadata } = typed<ConfigMap>(map);
  const own = reset && metadata?.labels?.[vocabulary.labelBootstrapping] === CREATED_BY_SERVER;
  return withSignatures(own ? { ...data, [CLUSTER_KEY]: content() } : data, tokens, vocabulary);
}

async function reconcile(
  context: ControllerContext,
  clusterInfo: ClusterInfoSettings,
): Promise<number | undefined> {
  const { client, clock, vocabulary } = context;
  const namespace = vocabulary.publicNamespace;
  const tokens = await signingTokens(context);
  const live = context.cacheOf('configmaps').get(`${namespace}/${CLUSTER_INFO}`)?.object();
  const data = desiredData(context, clusterInfo, live, tokens);
  if (data !== undefined && !isDeepStrictEqual(data, live?.['data'])) {
    await client.verbs.update({
      ref: { resource: context.resourceOf('configmaps'), namespace, name: CLUSTER_INFO },
      change: (found) => {
        const next = desiredData(context, clusterInfo, found, tokens);
        return { ...(found ?? newMap(vocabulary)), ...(next === undefined ? {} : { data: { ...next } }) };
      },
      dryRun: false,
      fieldManager: client.fieldManager,
      allowCreate: true,
      caller: client.caller,
    });
  }
  const leftMs = Math.min(...tokens.map(({ expiresMs }) => expiresMs)) - clock.now();
  return Number.isFinite(leftMs) ? Math.max(leftMs, 0) : undefined;
}

const newMap = ({ publicNamespace, labelBootstrapping }: Vocabulary): ApiObject => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: {
    name: CLUSTER_INFO,
    namespace: publicNamespace,
    labels: { [labelBootstrapping]: CREATED_BY_SERVER },
  },
});

export const bootstrapSigner: Controller = defineController({
  name: 'bootstrapsigner',
  identity: 'bootstrap-signer',
  watches: ['configmaps', 'secrets'],
  writes: { configmaps: { create: true, update: ['data'] } },
  ownFieldManager: true,
  workers: 1,
  start(context) {
    const { log, queue, vocabulary } = context;
    const { clusterInfo } = context.settings;
    if (clusterInfo === undefined) return undefined;
    const key = `${vocabulary.publicNamespace}/${CLUSTER_INFO}`;
    queue.add(CLUSTER_INFO);
    return {
      reconcile: () => reconcile(context, clusterInfo),
      follows: [
        { close: context.settings.onTrustChange(() => queue.add(CLUSTER_INFO)) },
        context.cacheOf('secrets').follow(({ current }) => {
          if (isNamedAsToken(current, vocabulary)) queue.add(CLUSTER_INFO);
        }),
        context.cacheOf('configmaps').follow(({ current }) => {
          if (current.key === key) queue.add(CLUSTER_INFO);
        }),
      ],
      onError: (_, err) => log.warn({ err }, 'Failed to sign cluster-info; retrying'),
    };
  },
});
