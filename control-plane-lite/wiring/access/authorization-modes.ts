/** Authorization modes that are configured by files. */
import { readFile } from 'node:fs/promises';
import type { Clock } from '#api/kit/clock.ts';
import { asError } from '#api/kit/errno.ts';
import { describeError } from '#api/kit/error-chain.ts';
import type { Logger } from '#api/kit/logger.ts';
import type { Waits } from '#api/kit/waits.ts';
import type { Vocabulary } from '#api/vocabulary.ts';
import { createAbac } from '../../authz/abac.ts';
import { AbacPolicyError, parseAbacPolicies } from '../../authz/abac-policy.ts';
import type { Authorizer } from '../../authz/contract.ts';
import { ConfigError } from '../../config/parse.ts';
import type { ServerConfig } from '../../config/settings.ts';
import type { CheckIdentity } from '../../webhooks/server-identity.ts';

export interface AuthorizationModeDeps {
  readonly config: ServerConfig;
  readonly vocabulary: Vocabulary;
  readonly clock: Clock;
  readonly log: Logger;
  readonly waits: Waits | undefined;
  readonly checkIdentity: CheckIdentity;
  /** Closes the connections to the webhook. */
  readonly signal: AbortSignal;
}

/** @throws ConfigError that names the file, and the line if one is invalid */
export async function abacMode({ config, log }: AuthorizationModeDeps): Promise<Authorizer> {
  const file = config.authorizationPolicyFile;
  try {
    const { policies, warnings } = parseAbacPolicies(await readFile(file, 'utf8'), file);
    if (warnings.length > 0) log.warn({ warnings }, 'Authorization policy file has warnings');
    return createAbac(policies);
  } catch (thrown) {
    const text =
      thrown instanceof AbacPolicyError
        ? thrown.message
        : `${file} could not be read: ${describeError(asError(thrown))}`;
    throw new ConfigError([`--authorization-policy-file: ${text}`]);
  }
}

/** @throws ConfigError that names the invalid part of the file */
export async function webhookMode(deps: AuthorizationModeDeps): Promise<Authorizer> {
  const { config, vocabulary, clock, log, waits, signal } = deps;
  // Loaded lazily, because few servers use the mode.
  const [{ loadBackend }, { createWebhookAuthorizer }] = await Promise.all([
    import('../../webhooks/backend.ts'),
    import('../../authz/webhook.ts'),
  ]);
  const file = config.authorizationWebhookConfigFile;
  const backend = await loadBackend(file, { log, checkIdentity: deps.checkIdentity }).catch(
    (thrown: unknown) => {
      const lines = describeError(asError(thrown)).split('\n');
      throw new ConfigError(lines.map((line) => `--authorization-webhook-config-file: ${line}`));
    },
  );
  signal.addEventListener('abort', () => void backend.close().catch(() => undefined), { once: true });
  return createWebhookAuthorizer(
    {
      backend,
      clock,
      vocabulary,
      waits,
      log: log.child({ component: 'authorization' }),
      random: Math.random,
    },
    {
      version: config.authorizationWebhookVersion === 'v1' ? 'v1' : 'v1beta1',
      authorizedTtlMs: config.authorizationWebhookCacheAuthorizedTtl,
      unauthorizedTtlMs: config.authorizationWebhookCacheUnauthorizedTtl,
    },
  );
}
