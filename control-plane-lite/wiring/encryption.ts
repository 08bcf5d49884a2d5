/** Encryption at rest as configured. */
import { systemClock } from '#api/kit/clock.ts';
import type { Logger } from '#api/kit/logger.ts';
import type { MetricsRegistry } from '#api/kit/metrics.ts';
import type { ServerConfig } from '../config/settings.ts';
import { vocabularyOf } from '../config/vocabulary.ts';
import { createEncryptedStore } from '../encryption/encrypted-store.ts';
import { openKeyringFile } from '../encryption/keyring-file.ts';
import { createKmsChecks } from '../encryption/kms/checks.ts';
import { createEncryptionMetrics } from '../encryption/metrics.ts';
import type { HealthCheck } from '../http/health/health.ts';
import { builtinFacts } from '../resources/facts.ts';
import type { Store } from '../store/contract.ts';

export interface Encryption {
  readonly wrap: (store: Store) => Store;
  /** Health checks of the key management services in use. */
  readonly checks: () => readonly HealthCheck[];
  close(): void;
}

/** `undefined` without `--encryption-provider-config`. @throws EncryptionConfigError */
export async function openEncryption(
  config: ServerConfig,
  registry: MetricsRegistry,
  log: Logger,
): Promise<Encryption | undefined> {
  const file = config.encryptionProviderConfig;
  if (file === '') return undefined;
  const vocabulary = vocabularyOf(config);
  const metrics = createEncryptionMetrics(registry);
  const mark = vocabulary.encryptionMark;
  const deps = { metrics, log, mark, domain: vocabulary.apiGroupDomain };
  const resources = new Set(
    builtinFacts(vocabulary).map(({ info }) =>
      info.group === '' ? info.plural : `${info.plural}.${info.group}`,
    ),
  );
  const keys = await openKeyringFile({ ...deps, resources }, file);
  return {
    wrap: (store) => createEncryptedStore({ store, keyring: keys.keyring, mark: Buffer.from(mark), metrics }),
    checks: createKmsChecks(systemClock, keys.keyring),
    close: () => keys.close(),
  };
}
