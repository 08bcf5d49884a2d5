/** Credentials from exec plugins: asks the plugins whose patterns fit an image, and keeps their answers as long as
 *  they say. A plugin that fails offers nothing; the pull goes on without it. */
import { join } from 'node:path';
import { asError, type Clock } from '#api/kit/clock.ts';
import type { Logger } from '#api/kit/logger.ts';
import { createSingleFlight } from '#api/kit/single-flight.ts';
import { formatPluginRequest, type PluginAnswer, parsePluginResponse } from './credential-plugin-response.ts';
import type { CredentialProviderSpec } from './credential-provider-config.ts';
import { type CredentialTable, matchesRegistryKey, normalizeRegistryKey } from './credentials.ts';
import type { CredentialProvider } from './keyring.ts';
import { type RunPlugin, runPlugin } from './run-plugin.ts';

export interface CredentialProviderDeps {
  readonly clock: Clock;
  readonly log: Logger;
  /** The agent's own environment, which plugins inherit. */
  readonly env: Readonly<Record<string, string>>;
  /** Runs a plugin; replaced in tests. */
  readonly runPlugin?: RunPlugin;
}

export interface CredentialProviderOptions {
  /** Directory of the plugins' programs. */
  readonly binDir: string;
  readonly providers: readonly CredentialProviderSpec[];
}

const PLUGIN_TIMEOUT_MS = 60_000;
const MOST_CACHED = 512;
const GLOBAL_KEY = 'global';

interface CredentialCache {
  readonly find: (image: string) => CredentialTable | undefined;
  readonly keep: (image: string, answer: PluginAnswer, cacheMs: number) => void;
}

function registryOf(image: string): string {
  const slash = image.indexOf('/');
  return slash < 0 ? image : image.slice(0, slash);
}

/** Answers by what they hold for; the most particular is found first. The kinds of keys cannot be confused. */
function createCache(clock: Clock): CredentialCache {
  const entries = new Map<string, { readonly table: CredentialTable; readonly untilMs: number }>();
  const keysOf = (image: string): Readonly<Record<PluginAnswer['cacheKeyType'], string>> => ({
    Image: `image ${image}`,
    Registry: `registry ${registryOf(image)}`,
    Global: GLOBAL_KEY,
  });
  return {
    find(image) {
      const keys = keysOf(image);
      for (const key of [keys.Image, keys.Registry, keys.Global]) {
        const entry = entries.get(key);
        if (entry !== undefined && clock.monotonic() < entry.untilMs) return entry.table;
        entries.delete(key);
      }
      return undefined;
    },
    keep(image, answer, cacheMs) {
      const oldest = entries.keys().next();
      if (entries.size >= MOST_CACHED && oldest.done !== true) entries.delete(oldest.value);
      entries.set(keysOf(image)[answer.cacheKeyType], {
        table: answer.credentials,
        untilMs: clock.monotonic() + cacheMs,
      });
    },
  };
}

function createProvider(
  deps: CredentialProviderDeps,
  binDir: string,
  spec: CredentialProviderSpec,
): CredentialProvider {
  const { clock, log } = deps;
  const run = deps.runPlugin ?? runPlugin;
  const cache = createCache(clock);
  const flights = createSingleFlight<CredentialTable>();
  const patterns = spec.matchImages.map(normalizeRegistryKey);
  const ownEnv = Object.fromEntries(spec.env.map(({ name, value }) => [name, value]));

  async function ask(image: string, signal: AbortSignal): Promise<CredentialTable> {
    const output = await run({
      path: join(binDir, spec.name),
      args: spec.args,
      env: { ...deps.env, ...ownEnv },
      input: formatPluginRequest(spec.apiVersion, image),
      timeoutMs: PLUGIN_TIMEOUT_MS,
      signal,
    });
    const answer = parsePluginResponse(output, spec.apiVersion);
    const cacheMs = answer.cacheMs ?? spec.defaultCacheMs;
    if (cacheMs > 0 && answer.credentials.length > 0) cache.keep(image, answer, cacheMs);
    return answer.credentials;
  }

  return async (image, signal) => {
    if (!patterns.some((pattern) => matchesRegistryKey(pattern, image))) return [];
    const cached = cache.find(image);
    if (cached !== undefined) return cached;
    try {
      return await flights.run(image, (shared) => ask(image, shared), signal);
    } catch (thrown) {
      signal.throwIfAborted();
      log.warn({ err: asError(thrown), plugin: spec.name, image }, 'Credential plugin failed');
      return [];
    }
  };
}

/** One provider per plugin, for `createKeyring`. */
export function createCredentialProviders(
  deps: CredentialProviderDeps,
  options: CredentialProviderOptions,
): readonly CredentialProvider[] {
  return options.providers.map((spec) => createProvider(deps, options.binDir, spec));
}
