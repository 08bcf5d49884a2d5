/** Bootstrap signer: maintains the cluster-info ConfigMap and its signatures, one per token that allows
 *  signing. Source: cluster-info, document 2 §5.9 (5). */
import { isDeepStrictEqual } from 'node:util';
import type { ConfigMap } from '#api/gen/core-v1.ts';
import { createWorkQueue } from '#api/kit/work-queue.ts';
import { type BootstrapToken, readBootstrapSecret } from '../../authn/bootstrap-secret.ts';
import type { ApiObject } from '../../resources/contract.ts';
import { typed } from '../../resources/view.ts';
import { controllerCaller } from '../../verbs/controller-caller.ts';
import { CLUSTER_INFO, CLUSTER_KEY, withSignatures } from './cluster-info.ts';
import { type BootstrapControllerDeps, isNamedAsToken } from './deps.ts';

export interface BootstrapSignerOptions {
  /** Default content of the ConfigMap. */
  readonly content: string;
  /** Reset the content of a ConfigMap that this server created to the default; not where several servers
   *  share a store. */
  readonly keep: boolean;
}

const MANAGER = 'bootstrap-signer';
/** Value of the label of a ConfigMap that a server created. */
const MADE = 'cluster-info';

/** Runs until the signal is aborted. */
export async function runBootstrapSigner(
  deps: BootstrapControllerDeps,
  { content, keep }: BootstrapSignerOptions,
  signal: AbortSignal,
): Promise<void> {
  const { clock, log, vocabulary } = deps;
  const namespace = vocabulary.publicNamespace;
  const resource = deps.registry.find('', 'v1', 'configmaps');
  const secretResource = deps.registry.find('', 'v1', 'secrets');
  if (resource === undefined || secretResource === undefined) return;
  const caller = controllerCaller(MANAGER, signal);
  const maps = deps.cache.resource(resource.storage);
  const secrets = deps.cache.resource(secretResource.storage);

  async function signingTokens(): Promise<readonly BootstrapToken[]> {
    const { items } = await secrets.list({ namespace: vocabulary.systemNamespace, labels: [], fields: [] });
    return items
      .filter((item) => isNamedAsToken(item, vocabulary))
      .flatMap((item) => readBootstrapSecret(item.object(), vocabulary) ?? [])
      .filter(({ signing, expiresMs }) => signing && expiresMs > clock.now());
  }

  /** The desired data; `undefined`: the ConfigMap has another owner, who has not yet written anything to
   *  sign. */
  function wanted(
    map: ApiObject | undefined,
    tokens: readonly BootstrapToken[],
  ): Readonly<Record<string, string>> | undefined {
    if (map === undefined) return withSignatures({ [CLUSTER_KEY]: content }, tokens, vocabulary);
    const { data = {}, metadata } = typed<ConfigMap>(map);
    const own = keep && metadata?.labels?.[vocabulary.labelBootstrapping] === MADE;
    return withSignatures(own ? { ...data, [CLUSTER_KEY]: content } : data, tokens, vocabulary);
  }

  const work = async (): Promise<number | undefined> => {
    const tokens = await signingTokens();
    const live = maps.get(`${namespace}/${CLUSTER_INFO}`)?.object();
    const data = wanted(live, tokens);
    if (data !== undefined && !isDeepStrictEqual(data, live?.['data'])) {
      await deps.verbs.update({
        ref: { resource, namespace, name: CLUSTER_INFO },
        change: (found) => {
          const next = wanted(found, tokens);
          return { ...(found ?? newMap()), ...(next === undefined ? {} : { data: { ...next } }) };
        },
        dryRun: false,
        fieldManager: MANAGER,
        allowCreate: true,
        caller,
      });
    }
    const leftMs = Math.min(...tokens.map(({ expiresMs }) => expiresMs)) - clock.now();
    return Number.isFinite(leftMs) ? Math.max(leftMs, 0) : undefined;
  };

  const newMap = (): ApiObject => ({
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: { name: CLUSTER_INFO, namespace, labels: { [vocabulary.labelBootstrapping]: MADE } },
  });

  const queue = createWorkQueue({
    clock,
    work,
    concurrency: 1,
    onError: (_, err) => log.warn({ err }, 'Failed to sign cluster-info; retrying'),
  });
  queue.add(CLUSTER_INFO);
  const following = [
    secrets.follow(({ current }) => isNamedAsToken(current, vocabulary) && queue.add(CLUSTER_INFO)),
    maps.follow(({ current }) => current.key === `${namespace}/${CLUSTER_INFO}` && queue.add(CLUSTER_INFO)),
  ];
  await queue.run(signal);
  for (const handle of following) handle.close();
}
