/** Client of a remote service that a client configuration file describes: HTTP(S) requests over pooled
 *  connections. Source: ImagePolicyWebhook, document 2 §2.7 and §4.1. */
import { readFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import { checkServerIdentity, createSecureContext } from 'node:tls';
import { Agent, request } from 'undici';
import { ClientConfigError } from '#api/client-config/error.ts';
import { parseClientConfig } from '#api/client-config/parse.ts';
import {
  type PemSource,
  type ResolvedClientConfig,
  resolveClientConfig,
} from '#api/client-config/resolve.ts';
import { systemClock } from '#api/kit/clock.ts';
import { followFiles } from '#api/kit/files/follow-files.ts';
import { type Logger, silentLogger } from '#api/kit/logger.ts';
import { AgentSuccession } from '../kit/agent-succession.ts';
import type { CheckIdentity } from './server-identity.ts';

/** Response with a status other than success. */
export class BackendError extends Error {
  override readonly name = 'BackendError';
  readonly status: number;
  /** The response has a `Retry-After` header. */
  readonly suggestsRetry: boolean;
  constructor(status: number, suggestsRetry = false) {
    super(`the server responded with status ${status}`);
    this.status = status;
    this.suggestsRetry = suggestsRetry;
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

type ReadText = (path: string) => Promise<string>;

const textOf = (source: PemSource, read: ReadText): Promise<string> | string =>
  source.kind === 'data' ? source.pem : read(source.path);

async function tlsOf(
  { tls, credentials }: ResolvedClientConfig,
  read: ReadText,
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
      : { cert: await textOf(certificate.certificate, read), key: await textOf(certificate.key, read) }),
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

export interface BackendDeps {
  readonly log?: Pick<Logger, 'info' | 'warn'>;
  readonly checkIdentity?: CheckIdentity;
}

interface Connections {
  readonly config: ResolvedClientConfig;
  readonly agent: Agent;
}

/** @throws ClientConfigError that names the invalid part of the file */
async function openConnections(
  file: string,
  text: string,
  read: ReadText,
  checkIdentity: CheckIdentity,
): Promise<Connections> {
  const parsed = parseClientConfig(text, file);
  if (parsed.kind === 'invalid') throw new ClientConfigError(file, parsed.errors);
  const config = await resolveClientConfig(parsed.config, { readFile: read });
  const { exec, oidc } = config.credentials;
  if (exec !== undefined || oidc !== undefined || config.proxyUrl !== undefined) {
    const detail = `the server proves itself by a certificate, a token or a password: ${dirname(file)}`;
    throw new ClientConfigError(file, [{ kind: 'FieldValueNotSupported', field: 'users', detail }]);
  }
  const tls = await tlsOf(config, read, checkIdentity);
  // An unusable pair must not replace the one in use.
  createSecureContext(tls);
  return { config, agent: new Agent({ connect: tls, connections: CONNECTIONS }) };
}

/** Follows the file and the files that it names: new connections use what they contain now.
 *  @throws ClientConfigError that names the invalid part of the file */
export async function loadBackend(
  file: string,
  { log = silentLogger, checkIdentity = checkServerIdentity }: BackendDeps = {},
): Promise<Backend> {
  const followed = await followFiles(
    { clock: systemClock, log },
    {
      what: 'client configuration of a webhook',
      paths: [file],
      parse: ([text = ''], read) => openConnections(file, text, read, checkIdentity),
    },
  );
  const agents = new AgentSuccession(followed.current().agent);
  followed.onChange(() => agents.replace(followed.current().agent));
  return {
    get url() {
      return followed.current().config.server;
    },
    async post(body, signal) {
      const { config } = followed.current();
      const authorization = await authorizationOf(config);
      const response = await request(config.server, {
        method: 'POST',
        dispatcher: agents.current,
        signal,
        headers: {
          'content-type': 'application/json',
          accept: 'application/json',
          ...(authorization === undefined ? {} : { authorization }),
        },
        body,
      });
      const text = await readBody(response.body);
      const { statusCode } = response;
      if (statusCode < 200 || statusCode > 299) {
        throw new BackendError(statusCode, response.headers['retry-after'] !== undefined);
      }
      return text;
    },
    async close() {
      followed.close();
      await agents.destroy();
    },
  };
}
