/** Builds the keyring of a configuration. */
import { aesCbc, aesGcm, IDENTITY, secretbox, withPrefix } from './ciphers.ts';
import type { KmsConfig, LocalProvider, ProviderConfig, ResourceRule } from './configuration.ts';
import type { Chain, Cipher, Keyring, KmsProvider, Transformer } from './contract.ts';
import { createKmsService } from './kms/service.ts';
import { createKmsV1 } from './kms/v1.ts';
import { createKmsV2 } from './kms/v2.ts';
import type { DataKeyMetrics } from './metrics.ts';

export interface KeyringDeps {
  readonly metrics: DataKeyMetrics;
  /** Start of the prefix of every encrypted value: `<vocabulary>:enc:`. */
  readonly mark: string;
}

const CIPHERS: Readonly<Record<LocalProvider, (secret: Buffer) => Cipher>> = {
  aescbc: aesCbc,
  aesgcm: aesGcm,
  secretbox,
};

/** Prefix of the storage keys of a resource: `secrets` or `deployments.apps`. */
function storagePrefix(resource: string): string {
  const dot = resource.indexOf('.');
  const [plural, group] = dot < 0 ? [resource, ''] : [resource.slice(0, dot), resource.slice(dot + 1)];
  return `/registry/${group === '' ? '' : `${group}/`}${plural}/`;
}

class Builder {
  readonly #deps: KeyringDeps;
  readonly #kms = new Map<string, Transformer & KmsProvider>();

  constructor(deps: KeyringDeps) {
    this.#deps = deps;
  }

  transformers(provider: ProviderConfig): readonly Transformer[] {
    if (provider.kind === 'identity') return [IDENTITY];
    if (provider.kind === 'kms') return [this.#kmsOf(provider)];
    const { kind, keys } = provider;
    const prefix = `${this.#deps.mark}${kind}:v1:`;
    return keys.map(({ name, secret }) => withPrefix(`${prefix}${name}:`, CIPHERS[kind](secret)));
  }

  /** Rules that name the same provider share its connection and its data keys. */
  #kmsOf(config: KmsConfig): Transformer & KmsProvider {
    const prefix = `${this.#deps.mark}kms:${config.version}:${config.name}:`;
    const known = this.#kms.get(prefix);
    if (known !== undefined) return known;
    const deps = { service: createKmsService(config), metrics: this.#deps.metrics };
    const created =
      config.version === 'v1'
        ? createKmsV1(deps, { prefix, cacheSize: config.cacheSize })
        : createKmsV2(deps, prefix);
    this.#kms.set(prefix, created);
    return created;
  }

  get kms(): readonly KmsProvider[] {
    return [...this.#kms.values()];
  }
}

/** Several rules of one resource are one: their providers follow one another. */
export function createKeyring(deps: KeyringDeps, rules: readonly ResourceRule[]): Keyring {
  const builder = new Builder(deps);
  const chains = new Map<string, Chain>();
  for (const { resources, providers } of rules) {
    const added = providers.flatMap((provider) => builder.transformers(provider));
    for (const resource of resources) {
      const prefix = storagePrefix(resource);
      const [first, ...rest] = [...(chains.get(prefix) ?? []), ...added];
      if (first !== undefined) chains.set(prefix, [first, ...rest]);
    }
  }
  return { chains, kms: builder.kms };
}

export function closeKeyring({ kms }: Keyring): void {
  for (const provider of kms) provider.close();
}
