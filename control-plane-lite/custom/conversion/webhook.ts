/** Client of a conversion webhook: one HTTPS request per review over pooled connections. Source:
 *  apiextensions/v1, WebhookConversion; webhook transport, document 2 §2.6. */

import { randomUUID } from 'node:crypto';
import { parseJsonText } from '#api/codec/json-text.ts';
import type { WebhookConversion } from '#api/gen/apiextensions-v1.ts';
import { messageOf } from '#api/kit/error-chain.ts';
import { StatusError } from '#api/meta/status-error.ts';
import type { ApiObject } from '../../resources/contract.ts';
import { callWebhook, type WebhookDeps, webhookAgent, webhookTarget } from '../../webhooks/call.ts';
import type { ConvertElsewhere } from './conversion.ts';
import {
  REVIEW_VERSIONS,
  ReviewError,
  type ReviewRequest,
  readReview,
  reviewBody,
} from './conversion-review.ts';

export interface WebhookOptions {
  readonly webhook: WebhookConversion;
  /** `apiextensions.<domain>`. */
  readonly group: string;
  /** `<group>/<version>, Kind=<kind>`-like text for messages: the kind that is converted. */
  readonly kind: string;
  /** Response timeout in ms. Default: 30 s. */
  readonly timeoutMs?: number;
  /** Closes the connections. */
  readonly signal: AbortSignal;
}

const TIMEOUT_MS = 30_000;

/** Converts by the definition's webhook. */
export function createWebhookConverter(deps: WebhookDeps, options: WebhookOptions): ConvertElsewhere {
  const { webhook, group, kind, timeoutMs = TIMEOUT_MS } = options;
  const client = webhook.clientConfig ?? {};
  const agent = webhookAgent(client);
  options.signal.addEventListener('abort', () => agent.destroy(), { once: true });
  const reviewVersion =
    webhook.conversionReviewVersions.find((version) => REVIEW_VERSIONS.includes(version)) ?? 'v1';

  async function review(request: ReviewRequest): Promise<readonly ApiObject[]> {
    const body = Buffer.from(JSON.stringify(reviewBody(request)));
    const what = `conversion webhook for ${kind}`;
    const response = await callWebhook(deps, webhookTarget(client, deps), { what, body, agent, timeoutMs });
    return readReview(parseResponse(response), request);
  }

  return async (objects, desiredApiVersion) => {
    const uid = randomUUID();
    try {
      return await review({ uid, reviewVersion, group, desiredApiVersion, objects });
    } catch (thrown) {
      const from = objects[0]?.apiVersion ?? '';
      const why = messageOf(thrown);
      throw new StatusError('InternalError', `conversion webhook for ${from}, Kind=${kind} failed: ${why}`, {
        cause: thrown,
      });
    }
  };
}

function parseResponse(bytes: Buffer): unknown {
  try {
    return parseJsonText(bytes.toString('utf8'));
  } catch (error) {
    throw new ReviewError('the response is not JSON', { cause: error });
  }
}
