/** Controllers of bootstrap tokens, if those are enabled. */

import { joinPolicy } from '../authz/join-policy.ts';
import { formatClusterInfo } from '../controllers/bootstrap/cluster-info.ts';
import type { BootstrapControllerDeps } from '../controllers/bootstrap/deps.ts';
import { runBootstrapSigner } from '../controllers/bootstrap/signer.ts';
import { runTokenCleaner } from '../controllers/bootstrap/token-cleaner.ts';
import { advertisedAddress } from '../identity/addresses.ts';
import { createMissing } from './bootstrap-objects.ts';
import type { Core } from './core.ts';

/** Runs until the signal fires. `authority` is PEM. */
export async function runBootstrapTokens(
  core: Core,
  { port, authority }: { readonly port: number; readonly authority: string },
  signal: AbortSignal,
): Promise<void> {
  const { config, registry, cache, verbs, clock, vocabulary, controllers } = core;
  if (!config.enableBootstrapTokenAuth) return;
  if (core.access.rbac !== undefined) {
    await createMissing({ registry, verbs, vocabulary }, joinPolicy(vocabulary), signal);
  }
  const deps = (controller: string): BootstrapControllerDeps => ({
    registry,
    cache,
    verbs,
    clock,
    vocabulary,
    log: core.log.child({ controller }),
  });
  const host = advertisedAddress(config);
  const url = `https://${host.includes(':') ? `[${host}]` : host}:${port}`;
  const content = formatClusterInfo({ url, authority });
  await Promise.all([
    controllers.has('tokencleaner') && runTokenCleaner(deps('token-cleaner'), signal),
    controllers.has('bootstrapsigner') &&
      runBootstrapSigner(
        deps('bootstrap-signer'),
        { content, keep: config.etcdServers.length === 0 },
        signal,
      ),
  ]);
}
