/** Deletes expired bootstrap tokens. Source: token cleaner, document 2 §3. */

import { readBootstrapSecret } from '../../authn/bootstrap-secret.ts';
import { unlessGone } from '../../verbs/unless-gone.ts';
import { type Controller, type ControllerContext, defineController } from '../skeleton/declaration.ts';
import { refOf } from '../workloads-kit/controller-base.ts';
import { isNamedAsToken } from './deps.ts';

async function reconcile(context: ControllerContext, key: string): Promise<number | undefined> {
  const { clock, client, log, vocabulary } = context;
  const entry = context.cacheOf('secrets').get(key);
  const object = entry?.object();
  const token = object === undefined ? undefined : readBootstrapSecret(object, vocabulary);
  if (entry === undefined || object === undefined || token === undefined) return undefined;
  const leftMs = token.expiresMs - clock.now();
  if (leftMs > 0) return Number.isFinite(leftMs) ? leftMs : undefined;
  const { uid, resourceVersion } = object.metadata;
  // A client may just have extended the token.
  const preconditions = {
    ...(uid === undefined ? {} : { uid }),
    ...(resourceVersion === undefined ? {} : { resourceVersion }),
  };
  const ref = refOf(context.resourceOf('secrets'), entry);
  await unlessGone(() => client.verbs.delete({ ref, dryRun: false, preconditions, caller: client.caller }));
  log.info({ token: token.id }, 'Expired bootstrap token deleted');
  return undefined;
}

export const tokenCleaner: Controller = defineController({
  name: 'tokencleaner',
  identity: 'token-cleaner',
  watches: ['secrets'],
  writes: { secrets: { delete: true } },
  workers: 4,
  start(context) {
    const { log, queue, settings, vocabulary } = context;
    if (settings.clusterInfo === undefined) return undefined;
    const following = context.cacheOf('secrets').follow(({ type, current }) => {
      if (type !== 'DELETED' && isNamedAsToken(current, vocabulary)) queue.add(current.key);
    });
    return {
      reconcile: (key) => reconcile(context, key),
      follows: [following],
      onError: (secret, err) =>
        log.warn({ err, secret }, 'Failed to delete expired bootstrap token; retrying'),
    };
  },
});
