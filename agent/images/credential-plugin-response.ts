/** Requests and responses of credential plugins. Pure; errors never quote a response. */

import { parseJsonText } from '#api/codec/json-text.ts';
import { isObject } from '#api/kit/object.ts';
import { DurationError, parseDuration } from '#api/meta/duration.ts';
import type { CredentialTable } from './credentials.ts';

/** Scope of a cached response. */
export type PluginCacheKeyType = 'Image' | 'Registry' | 'Global';

export interface PluginResponse {
  readonly cacheKeyType: PluginCacheKeyType;
  /** Cache duration, in ms; undefined selects the configured one, 0 disables caching. */
  readonly cacheMs: number | undefined;
  readonly credentials: CredentialTable;
}

/** A response that violates the protocol. */
class PluginResponseError extends Error {
  override readonly name = 'PluginResponseError';
}

type JsonObject = Readonly<Record<string, unknown>>;

const CACHE_KEY_TYPES: readonly PluginCacheKeyType[] = ['Image', 'Registry', 'Global'];
const NS_PER_MS = 1_000_000n;

/** Returns the request for the standard input of the plugin. */
export function formatPluginRequest(apiVersion: string, image: string): string {
  return JSON.stringify({ kind: 'CredentialProviderRequest', apiVersion, image });
}

function parseObject(text: string): JsonObject {
  let value: unknown;
  try {
    value = parseJsonText(text);
  } catch {
    value = undefined;
  }
  if (isObject(value)) return value;
  throw new PluginResponseError('the response is not a JSON object');
}

function readCacheMs(value: unknown): number | undefined {
  if (value === undefined || value === null) return undefined;
  try {
    if (typeof value === 'string') return Math.max(0, Number(parseDuration(value) / NS_PER_MS));
  } catch (thrown) {
    if (!(thrown instanceof DurationError)) throw thrown;
  }
  throw new PluginResponseError('cacheDuration must be a duration such as 5m');
}

function readAuth(value: unknown): CredentialTable {
  if (value === undefined || value === null) return [];
  if (!isObject(value)) throw new PluginResponseError('auth must be an object');
  return Object.entries(value).map(([key, entry]) => {
    const { username = '', password = '' } = isObject(entry) ? entry : {};
    if (!isObject(entry) || typeof username !== 'string' || typeof password !== 'string') {
      throw new PluginResponseError('each member of auth must have a username and a password');
    }
    return [key, { username, password, identityToken: '', registryToken: '' }] as const;
  });
}

/** Parses a response to a request of `apiVersion`.
 *  @throws {PluginResponseError} */
export function parsePluginResponse(text: string, apiVersion: string): PluginResponse {
  const response = parseObject(text);
  if (response['kind'] !== 'CredentialProviderResponse') {
    throw new PluginResponseError('kind must be CredentialProviderResponse');
  }
  if (response['apiVersion'] !== apiVersion) {
    throw new PluginResponseError(`apiVersion must be ${apiVersion}, as configured`);
  }
  const cacheKeyType = CACHE_KEY_TYPES.find((type) => type === response['cacheKeyType']);
  if (cacheKeyType === undefined) {
    throw new PluginResponseError(`cacheKeyType must be one of ${CACHE_KEY_TYPES.join(', ')}`);
  }
  return {
    cacheKeyType,
    cacheMs: readCacheMs(response['cacheDuration']),
    credentials: readAuth(response['auth']),
  };
}
