/** A conversion webhook: one HTTPS request for each review, over connections that are kept.
 *  Source: apiextensions/v1, WebhookConversion; document 2, 2.6 for how webhooks are reached. */

import { randomUUID } from 'node:crypto';
import { Agent, request } from 'node:https';
import { isIP } from 'node:net';
import { parseJsonText } from '#api/codec/json-text.ts';
import { asError } from '#api/kit/clock.ts';
import { StatusError } from '#api/meta/status-error.ts';
import type { ServiceReference, WebhookConversion } from '#api/schema/gen/apiextensions-v1.ts';
import type { ApiObject } from '../resources/contract.ts';
import type { ConvertElsewhere } from './conversion.ts';
import {
  REVIEW_VERSIONS,
  ReviewError,
  type ReviewRequest,
  readReview,
  reviewBody,
} from './conversion-review.ts';

/** Where a service is reached right now. */
export interface ServiceAddress {
  readonly host: string;
  readonly port: number;
}

export interface WebhookDeps {
  /** @throws Error if there is no way to the service */
  readonly addressOf: (
    service: Required<Pick<ServiceReference, 'namespace' | 'name' | 'port'>>,
  ) => ServiceAddress;
}

export interface WebhookOptions {
  readonly webhook: WebhookConversion;
  /** `apiextensions.<domain>`. */
  readonly group: string;
  /** `<group>/<version>, Kind=<kind>`-like text for messages: the kind that is converted. */
  readonly kind: string;
  /** Longest wait for an answer; default 30 s. */
  readonly timeoutMs?: number;
  /** Closes the connections. */
  readonly signal: AbortSignal;
}

const TIMEOUT_MS = 30_000;
/** Connections that wait are closed before the other side does it. */
const IDLE_MS = 4000;
const MAX_ANSWER_BYTES = 64 * 1024 * 1024;
const DEFAULT_PORT = 443;

interface Target extends ServiceAddress {
  readonly path: string;
  /** The name that its certificate is for, and that it is called by; without a port. */
  readonly name: string;
}

function targetOf({ clientConfig }: WebhookConversion, { addressOf }: WebhookDeps): Target {
  const { url, service } = clientConfig ?? {};
  if (url !== undefined) {
    const { hostname, port, pathname } = new URL(url);
    const host = hostname.replace(/^\[|\]$/g, '');
    return { host, name: hostname, port: port === '' ? DEFAULT_PORT : Number(port), path: pathname };
  }
  if (service === undefined) throw new Error('the webhook has no address');
  const { namespace, name, port = DEFAULT_PORT, path = '/' } = service;
  return { ...addressOf({ namespace, name, port }), name: `${name}.${namespace}.svc`, path };
}

/** The answer's body. @throws Error */
function post(target: Target, body: Buffer, agent: Agent, timeoutMs: number): Promise<Buffer> {
  const signal = AbortSignal.timeout(timeoutMs);
  return new Promise((resolve, reject) => {
    const sent = request(
      {
        agent,
        signal,
        method: 'POST',
        host: target.host,
        port: target.port,
        // An address is compared with the certificate as it is; it is no name to be asked for.
        ...(isIP(target.name.replace(/^\[|\]$/g, '')) === 0 ? { servername: target.name } : {}),
        path: `${target.path}?timeout=${Math.ceil(timeoutMs / 1000)}s`,
        headers: {
          host: target.port === DEFAULT_PORT ? target.name : `${target.name}:${target.port}`,
          'content-type': 'application/json',
          accept: 'application/json',
          'content-length': body.length,
        },
      },
      (answer) => {
        const pieces: Buffer[] = [];
        let length = 0;
        answer.on('data', (piece: Buffer) => {
          length += piece.length;
          if (length > MAX_ANSWER_BYTES)
            answer.destroy(new Error(`the answer exceeds ${MAX_ANSWER_BYTES} bytes`));
          else pieces.push(piece);
        });
        answer.on('error', reject);
        answer.on('end', () => {
          const { statusCode = 0 } = answer;
          if (statusCode === 200) resolve(Buffer.concat(pieces));
          else reject(new Error(`the server answered ${statusCode}`));
        });
      },
    );
    sent.on('error', (error) =>
      reject(signal.aborted ? new Error(`no answer within ${timeoutMs} ms`) : error),
    );
    sent.end(body);
  });
}

/** The authorities that the webhook's certificate is checked against; absent: the system's. */
function authoritiesOf({ clientConfig }: WebhookConversion): { readonly ca?: Buffer } {
  const { caBundle = '' } = clientConfig ?? {};
  return caBundle === '' ? {} : { ca: Buffer.from(caBundle, 'base64') };
}

/** Converts by the definition's webhook. */
export function createWebhookConverter(deps: WebhookDeps, options: WebhookOptions): ConvertElsewhere {
  const { webhook, group, kind, timeoutMs = TIMEOUT_MS } = options;
  const agent = new Agent({
    ...authoritiesOf(webhook),
    keepAlive: true,
    timeout: IDLE_MS,
    maxFreeSockets: 4,
    scheduling: 'lifo',
  });
  options.signal.addEventListener('abort', () => agent.destroy(), { once: true });
  const reviewVersion =
    webhook.conversionReviewVersions.find((version) => REVIEW_VERSIONS.includes(version)) ?? 'v1';

  async function review(asked: ReviewRequest): Promise<readonly ApiObject[]> {
    const body = Buffer.from(JSON.stringify(reviewBody(asked)));
    const answer = await post(targetOf(webhook, deps), body, agent, timeoutMs);
    return readReview(parseAnswer(answer), asked);
  }

  return async (objects, desiredApiVersion) => {
    const uid = randomUUID();
    try {
      return await review({ uid, reviewVersion, group, desiredApiVersion, objects });
    } catch (thrown) {
      const from = objects[0]?.apiVersion ?? '';
      const why = asError(thrown).message;
      throw new StatusError('InternalError', `conversion webhook for ${from}, Kind=${kind} failed: ${why}`, {
        cause: thrown,
      });
    }
  };
}

function parseAnswer(bytes: Buffer): unknown {
  try {
    return parseJsonText(bytes.toString('utf8'));
  } catch (error) {
    throw new ReviewError('the answer is no JSON', { cause: error });
  }
}
