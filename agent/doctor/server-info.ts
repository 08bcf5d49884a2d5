/** Queries the API server for the node of this machine, with the credentials of the node. */
import { X509Certificate } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import type { PemSource } from '#api/client-config/resolve.ts';
import { systemClock } from '#api/kit/clock.ts';
import { silentLogger } from '#api/kit/logger.ts';
import { createApiClient } from '../api-client/client.ts';
import { loadClientConfig } from '../api-client/credentials/load.ts';
import { ApiRequestError } from '../api-client/errors.ts';
import type { ServerInfo } from './machine.ts';

const TIMEOUT_MS = 5000;

const textOf = async (source: PemSource): Promise<string> =>
  source.kind === 'data' ? source.pem : readFile(source.path, 'utf8');

/** Returns the node name of a client certificate; empty if it is not that of a node. */
async function nodeOf(source: PemSource | undefined): Promise<string> {
  if (source === undefined) return '';
  const { subject } = new X509Certificate(await textOf(source));
  return /^CN=system:node:(.+)$/m.exec(subject)?.[1] ?? '';
}

/** @param platconfig path of the client configuration
 *  @throws Error when the server is unreachable or does not authenticate the node */
export async function readServerInfo(platconfig: string): Promise<ServerInfo> {
  const { config } = await loadClientConfig(platconfig);
  const name = await nodeOf(config.credentials.certificate?.certificate);
  const deps = {
    clock: systemClock,
    log: silentLogger,
    env: {},
    hasTerminal: false,
    passOn: () => undefined,
  };
  await using api = createApiClient(deps, config, { userAgent: 'nodeagent-doctor' });
  const signal = AbortSignal.timeout(TIMEOUT_MS);
  try {
    const node = await api.get({ apiVersion: 'v1', resource: 'nodes', name: name || 'unknown' }, signal);
    return { state: 'ok', detail: `${config.server} is reachable; node ${name} is ${readiness(node)}` };
  } catch (thrown) {
    if (!(thrown instanceof ApiRequestError)) throw thrown;
    if (thrown.status === 404 || (thrown.status === 403 && name === '')) {
      const detail = `${config.server} is reachable; node ${name} is not registered`;
      return { state: 'limited', detail, advice: 'start the agent' };
    }
    throw new Error(`${config.server}: ${thrown.message}`, { cause: thrown });
  }
}

function readiness(node: Readonly<Record<string, unknown>>): string {
  const { status } = node;
  const conditions: unknown =
    typeof status === 'object' && status !== null ? Reflect.get(status, 'conditions') : undefined;
  const isReady = (condition: unknown): boolean =>
    typeof condition === 'object' &&
    condition !== null &&
    Reflect.get(condition, 'type') === 'Ready' &&
    Reflect.get(condition, 'status') === 'True';
  return Array.isArray(conditions) && conditions.some(isReady) ? 'Ready' : 'not Ready';
}
