/** Registry credentials from exec plugins: runs the plugins whose patterns match an image, and caches their
 *  responses. A failed plugin provides nothing; the pull continues without it. */

import { join } from 'node:path';
import type { Clock } from '#api/kit/clock.ts';
import { asError } from '#api/kit/errno.ts';
import type { Logger } from '#api/kit/logger.ts';
import { createSingleFlight } from '#api/kit/single-flight.ts';
import { NO_RESPONSE, type Waits } from '#api/kit/waits.ts';
import {
  formatPluginRequest,
  type PluginResponse,
  parsePluginResponse,
} from './credential-plugin-response.ts';
import type { CredentialProviderSpec } from './credential-provider-config.ts';
import { type CredentialTable, matchesRegistryKey, normalizeRegistryKey } from './credentials.ts';
import type { CredentialProvider } from './keyring.ts';
import { type RunPlugin, runPlugin } from './run-plugin.ts';

export interface CredentialProviderDeps {
  readonly clock: Clock;
  readonly log: Logger;
  /** Registers waits for plugins. */
  readonly waits?: Pick<Waits, 'during'> | undefined;
  /** Environment of the agent, which plugins inherit. */
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
  readonly keep: (image: string, response: PluginResponse, cacheMs: number) => void;
}

function registryOf(image: string): string {
  const slash = image.indexOf('/');
  return slash < 0 ? image : image.slice(0, slash);
}

/** Cached responses by scope; the most specific one is found first. Keys of different scopes cannot collide. */
function createCache(clock: Clock): CredentialCache {
  const entries = new Map<string, { readonly table: CredentialTable; readonly untilMs: number }>();
  const keysOf = (image: string): Readonly<Record<PluginResponse['cacheKeyType'], string>> => ({
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
    keep(image, response, cacheMs) {
      const oldest = entries.keys().next();
      if (entries.size >= MOST_CACHED && oldest.done !== true) entries.delete(oldest.value);
      entries.set(keysOf(image)[response.cacheKeyType], {
        table: response.credentials,
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
    const running = run({
      path: join(binDir, spec.name),
      args: spec.args,
      env: { ...deps.env, ...ownEnv },
      input: formatPluginRequest(spec.apiVersion, image),
      timeoutMs: PLUGIN_TIMEOUT_MS,
      signal,
    });
    const what = `credential provider ${spec.name} for image ${image}`;
    const output = await (deps.waits?.during(what, running, NO_RESPONSE) ?? running);
    const response = parsePluginResponse(output, spec.apiVersion);
    const cacheMs = response.cacheMs ?? spec.defaultCacheMs;
    if (cacheMs > 0 && response.credentials.length > 0) cache.keep(image, response, cacheMs);
    return response.credentials;
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

/** Returns one provider per plugin, for `createKeyring`. */
export function createCredentialProviders(
  deps: CredentialProviderDeps,
  options: CredentialProviderOptions,
): readonly CredentialProvider[] {
  return options.providers.map((spec) => createProvider(deps, options.binDir, spec));
}
