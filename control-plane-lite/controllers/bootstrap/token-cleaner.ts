/** Deletes expired bootstrap tokens. Source: token cleaner, document 2 §3. */
import { createWorkQueue } from '#api/kit/work-queue.ts';
import { readBootstrapSecret } from '../../authn/bootstrap-secret.ts';
import { controllerCaller } from '../../verbs/controller-caller.ts';
import { unlessGone } from '../../verbs/unless-gone.ts';
import { type BootstrapControllerDeps, isNamedAsToken } from './deps.ts';

/** Runs until the signal is aborted. */
export async function runTokenCleaner(deps: BootstrapControllerDeps, signal: AbortSignal): Promise<void> {
  const { clock, log, vocabulary } = deps;
  const resource = deps.registry.find('', 'v1', 'secrets');
  if (resource === undefined) return;
  const caller = controllerCaller('token-cleaner', signal);
  const secrets = deps.cache.resource(resource.storage);

  const work = async (key: string): Promise<number | undefined> => {
    const entry = secrets.get(key);
    const object = entry?.object();
    const token = object === undefined ? undefined : readBootstrapSecret(object, vocabulary);
    if (entry === undefined || object === undefined || token === undefined) return undefined;
    const leftMs = token.expiresMs - clock.now();
    if (leftMs > 0) return Number.isFinite(leftMs) ? leftMs : undefined;
    const { namespace, name } = entry;
    const { uid, resourceVersion } = object.metadata;
    // A client may just have extended the token.
    const preconditions = {
      ...(uid === undefined ? {} : { uid }),
      ...(resourceVersion === undefined ? {} : { resourceVersion }),
    };
    await unlessGone(() =>
      deps.verbs.delete({ ref: { resource, namespace, name }, dryRun: false, preconditions, caller }),
    );
    log.info({ token: token.id }, 'Expired bootstrap token deleted');
    return undefined;
  };

  const queue = createWorkQueue({
    clock,
    work,
    onError: (secret, err) => log.warn({ err, secret }, 'Failed to delete expired bootstrap token; retrying'),
  });
  const following = secrets.follow(({ type, current }) => {
    if (type !== 'DELETED' && isNamedAsToken(current, vocabulary)) queue.add(current.key);
  });
  await queue.run(signal);
  following.close();
}
