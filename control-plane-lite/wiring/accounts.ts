/** Controllers that give pods access to the API: service accounts, their tokens, and the root CA. */
import { readFile } from 'node:fs/promises';
import type { Clock } from '#api/kit/clock.ts';
import type { Logger } from '#api/kit/logger.ts';
import type { Vocabulary } from '#api/vocabulary.ts';
import type { Cache } from '../cache/contract.ts';
import type { ServerConfig } from '../config/settings.ts';
import { runRootCaPublisher } from '../controllers/root-ca/publisher.ts';
import { runDefaultAccounts } from '../controllers/service-accounts/default-account.ts';
import { NO_GENERATION_GATE, runTokenSecrets } from '../controllers/service-accounts/generate-secrets.ts';
import { runAccountTokens } from '../controllers/service-accounts/tokens.ts';
import type { ResourceRegistry } from '../resources/registry.ts';
import type { Verbs } from '../verbs/contract.ts';
import type { Core } from './core.ts';

interface Deps {
  readonly registry: ResourceRegistry;
  readonly cache: Cache;
  readonly verbs: Verbs;
  readonly clock: Clock;
  readonly vocabulary: Vocabulary;
  readonly log: Logger;
}

/** `own`: PEM of the server's own CA. Runs until the signal fires.
 *  @throws Error that names the unreadable file */
export async function runAccounts(core: Core, own: string, signal: AbortSignal): Promise<void> {
  const { registry, cache, verbs, clock, vocabulary, config, controllers, gates } = core;
  const authority = await rootAuthority(config, own);
  const deps = (controller: string): Deps => ({
    registry,
    cache,
    verbs,
    clock,
    vocabulary,
    log: core.log.child({ controller }),
  });
  const { issuer } = core.accountTokens;
  await Promise.all([
    controllers.has('serviceaccount') && runDefaultAccounts(deps('serviceaccount'), signal),
    controllers.has('root-ca-cert-publisher') &&
      runRootCaPublisher(deps('root-ca-cert-publisher'), authority, signal),
    controllers.has('serviceaccount-token') &&
      runAccountTokens({ ...deps('serviceaccount-token'), issuer, authority }, signal),
    controllers.has('serviceaccount-token') &&
      !gates.has(NO_GENERATION_GATE) &&
      runTokenSecrets(deps('serviceaccount-token'), signal),
  ]);
}

async function rootAuthority({ rootCaFile }: ServerConfig, own: string): Promise<string> {
  if (rootCaFile === '') return own;
  try {
    return await readFile(rootCaFile, 'utf8');
  } catch (cause) {
    throw new Error(`cannot read ${rootCaFile}`, { cause });
  }
}
