/** Calls webhooks: one HTTPS request each over pooled connections. Source: webhook transport, document 2 §2.6
 *  and §4.1. */

import { Agent, request } from 'node:https';
import { isIP } from 'node:net';
import { messageOf } from '#api/kit/error-chain.ts';
import { NO_RESPONSE, type Waits } from '#api/kit/waits.ts';
import type { CheckIdentity } from './server-identity.ts';

/** Response with a status other than success. */
export class WebhookStatusError extends Error {
  override readonly name = 'WebhookStatusError';
  readonly status: number;
  constructor(status: number) {
    super(`the server responded with status ${status}`);
    this.status = status;
  }
}

/** A service that leads to a webhook. */
export interface WebhookService {
  readonly namespace: string;
  readonly name: string;
  readonly port?: number;
  readonly path?: string;
}

/** Address of a webhook: a URL or a service. */
export interface WebhookClient {
  readonly url?: string;
  readonly service?: WebhookService;
  /** PEM, in base64. */
  readonly caBundle?: string;
}

/** Where a service is reached right now. */
export interface ServiceAddress {
  readonly host: string;
  readonly port: number;
}

export interface WebhookDeps {
  /** @throws Error if the service is unreachable */
  readonly addressOf: (
    service: Required<Pick<WebhookService, 'namespace' | 'name' | 'port'>>,
  ) => ServiceAddress;
  readonly checkIdentity: CheckIdentity;
  /** Reports slow webhooks. */
  readonly waits?: Pick<Waits, 'during'> | undefined;
}

export interface WebhookCall {
  /** A noun phrase for people: `admission webhook "…"`. */
  readonly what: string;
  readonly body: Buffer;
  readonly agent: Agent;
  readonly timeoutMs: number;
  readonly authorization?: string | undefined;
}

/** Connections that wait are closed before the other side does it. */
const IDLE_MS = 4000;
const MAX_RESPONSE_BYTES = 64 * 1024 * 1024;
const DEFAULT_PORT = 443;

export interface WebhookTarget extends ServiceAddress {
  readonly path: string;
  /** Server name for its certificate and the Host header, without a port. */
  readonly name: string;
}

/** @throws Error if it is unreachable */
export function webhookTarget(
  { url, service }: WebhookClient,
  { addressOf }: Pick<WebhookDeps, 'addressOf'>,
): WebhookTarget {
  if (url !== undefined) {
    const { hostname, port, pathname } = new URL(url);
    const host = hostname.replace(/^\[|\]$/g, '');
    return { host, name: hostname, port: port === '' ? DEFAULT_PORT : Number(port), path: pathname };
  }
  if (service === undefined) throw new Error('the webhook has neither a URL nor a service');
  const { namespace, name, port = DEFAULT_PORT, path = '/' } = service;
  return { ...addressOf({ namespace, name, port }), name: `${name}.${namespace}.svc`, path };
}

/** Returns the response body. @throws Error */
export function callWebhook(
  { waits }: Pick<WebhookDeps, 'waits'>,
  target: WebhookTarget,
  call: WebhookCall,
): Promise<Buffer> {
  const response = send(target, call);
  return waits?.during(call.what, response, NO_RESPONSE) ?? response;
}

function send(
  target: WebhookTarget,
  { body, agent, timeoutMs, authorization }: WebhookCall,
): Promise<Buffer> {
  const signal = AbortSignal.timeout(timeoutMs);
  const port = target.port === DEFAULT_PORT ? '' : `:${target.port}`;
  const path = `${target.path}?timeout=${Math.ceil(timeoutMs / 1000)}s`;
  return new Promise((resolve, reject) => {
    // Upstream's error text, which tools search for.
    const fail = (error: Error): void => {
      const why = signal.aborted ? 'context deadline exceeded' : messageOf(error);
      reject(new Error(`Post "https://${target.name}${port}${path}": ${why}`, { cause: error }));
    };
    const sent = request(
      {
        agent,
        signal,
        method: 'POST',
        host: target.host,
        port: target.port,
        // SNI allows no IP addresses; the certificate is compared with the address itself.
        ...(isIP(target.name.replace(/^\[|\]$/g, '')) === 0 ? { servername: target.name } : {}),
        path,
        headers: {
          host: `${target.name}${port}`,
          'content-type': 'application/json',
          accept: 'application/json',
          'content-length': body.length,
          ...(authorization === undefined ? {} : { authorization }),
        },
      },
      (response) => {
        const pieces: Buffer[] = [];
        let length = 0;
        response.on('data', (piece: Buffer) => {
          length += piece.length;
          if (length > MAX_RESPONSE_BYTES)
            response.destroy(new Error(`the response exceeds ${MAX_RESPONSE_BYTES} bytes`));
          else pieces.push(piece);
        });
        response.on('error', fail);
        response.on('end', () => {
          const { statusCode = 0 } = response;
          if (statusCode === 200) resolve(Buffer.concat(pieces));
          else reject(new WebhookStatusError(statusCode));
        });
      },
    );
    sent.on('error', fail);
    sent.end(body);
  });
}

/** The authorities that the webhook's certificate is checked against; absent: the system's. */
function authoritiesOf({ caBundle = '' }: WebhookClient): { readonly ca?: Buffer } {
  return caBundle === '' ? {} : { ca: Buffer.from(caBundle, 'base64') };
}

/** Connection pool of a webhook. `own`: client certificate. */
export const webhookAgent = (
  client: WebhookClient,
  checkServerIdentity: CheckIdentity,
  own: { readonly cert?: string; readonly key?: string } = {},
): Agent =>
  new Agent({
    checkServerIdentity,
    ...authoritiesOf(client),
    ...own,
    keepAlive: true,
    timeout: IDLE_MS,
    maxFreeSockets: 4,
    scheduling: 'lifo',
  });
