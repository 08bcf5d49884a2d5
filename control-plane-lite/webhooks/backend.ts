/** Client of a remote service that a client configuration file describes: HTTP(S) requests over pooled
 *  connections. Source: ImagePolicyWebhook, document 2 §2.7 and §4.1. */
import { readFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import { checkServerIdentity } from 'node:tls';
import { Agent, request } from 'undici';
import { ClientConfigError } from '#api/client-config/error.ts';
import { parseClientConfig } from '#api/client-config/parse.ts';
import {
  type PemSource,
  type ResolvedClientConfig,
  resolveClientConfig,
} from '#api/client-config/resolve.ts';

import type { CheckIdentity } from './server-identity.ts';

/** Response with a status other than success. */
export class BackendError extends Error {
  override readonly name = 'BackendError';
  readonly status: number;
  constructor(status: number) {
    super(`the server responded with status ${status}`);
    this.status = status;
  }
}

export interface Backend {
  /** Human-readable location. */
  readonly url: string;
  /** Posts a JSON body and returns the response body as text. @throws BackendError, or Error if it is unreachable */
  post(body: string, signal: AbortSignal): Promise<string>;
  close(): Promise<void>;
}

const MAX_RESPONSE_BYTES = 1024 * 1024;
const CONNECTIONS = 16;

const textOf = (source: PemSource): Promise<string> | string =>
  source.kind === 'data' ? source.pem : readFile(source.path, 'utf8');

async function tlsOf(
  { tls, credentials }: ResolvedClientConfig,
  checkIdentity: CheckIdentity,
): Promise<Readonly<Record<string, unknown>>> {
  const { certificate } = credentials;
  return {
    checkServerIdentity: checkIdentity,
    ...(tls.authority === undefined ? {} : { ca: tls.authority }),
    ...(tls.serverName === undefined ? {} : { servername: tls.serverName }),
    ...(tls.insecure ? { rejectUnauthorized: false } : {}),
    ...(certificate === undefined
      ? {}
      : { cert: await textOf(certificate.certificate), key: await textOf(certificate.key) }),
  };
}

/** Returns the Authorization header. Reads a token file for each request, because it may change. */
async function authorizationOf({ credentials }: ResolvedClientConfig): Promise<string | undefined> {
  const { bearer, basic } = credentials;
  if (bearer !== undefined) {
    const token =
      bearer.tokenFile === undefined
        ? bearer.token
        : await readFile(bearer.tokenFile, 'utf8').catch(() => bearer.token);
    return `Bearer ${token.trim()}`;
  }
  if (basic === undefined) return undefined;
  return `Basic ${Buffer.from(`${basic.username}:${basic.password}`).toString('base64')}`;
}

async function readBody(body: AsyncIterable<Buffer>): Promise<string> {
  const pieces: Buffer[] = [];
  let length = 0;
  for await (const piece of body) {
    length += piece.length;
    if (length > MAX_RESPONSE_BYTES) throw new Error(`the response exceeds ${MAX_RESPONSE_BYTES} bytes`);
    pieces.push(piece);
  }
  return Buffer.concat(pieces).toString('utf8');
}

/** @throws ClientConfigError that names the invalid part of the file */
export async function loadBackend(
  file: string,
  checkIdentity: CheckIdentity = checkServerIdentity,
): Promise<Backend> {
  const parsed = parseClientConfig(await readFile(file), file);
  if (parsed.kind === 'invalid') throw new ClientConfigError(file, parsed.errors);
  const config = await resolveClientConfig(parsed.config, { readFile: (path) => readFile(path, 'utf8') });
  const { exec, oidc } = config.credentials;
  if (exec !== undefined || oidc !== undefined || config.proxyUrl !== undefined) {
    const detail = `the server proves itself by a certificate, a token or a password: ${dirname(file)}`;
    throw new ClientConfigError(file, [{ kind: 'FieldValueNotSupported', field: 'users', detail }]);
  }
  return createBackend(config, checkIdentity);
}

async function createBackend(config: ResolvedClientConfig, checkIdentity: CheckIdentity): Promise<Backend> {
  const agent = new Agent({ connect: await tlsOf(config, checkIdentity), connections: CONNECTIONS });
  return {
    url: config.server,
    async post(body, signal) {
      const authorization = await authorizationOf(config);
      const response = await request(config.server, {
        method: 'POST',
        dispatcher: agent,
        signal,
        headers: {
          'content-type': 'application/json',
          accept: 'application/json',
          ...(authorization === undefined ? {} : { authorization }),
        },
        body,
      });
      const text = await readBody(response.body);
      if (response.statusCode < 200 || response.statusCode > 299) throw new BackendError(response.statusCode);
      return text;
    },
    close: () => agent.destroy(),
  };
}
