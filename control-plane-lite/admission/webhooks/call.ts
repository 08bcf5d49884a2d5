/** Calls one webhook for one request. Source: webhook calls, document 2 §2.2, §2.6, §4.1 and §7. */

import { randomUUID } from 'node:crypto';
import type { Agent } from 'node:https';
import { writeJsonSteps } from '#api/codec/json-writer.ts';
import { messageOf } from '#api/kit/error-chain.ts';
import type { Logger } from '#api/kit/logger.ts';
import { finishInTurns } from '#api/kit/steps.ts';
import { StatusError, type StatusReason } from '#api/meta/status-error.ts';
import type { Vocabulary } from '#api/vocabulary.ts';
import { turnOf } from '../../kit/yield.ts';
import { callWebhook, type WebhookDeps, webhookAgent, webhookTarget } from '../../webhooks/call.ts';
import type { AdmissionRequest } from '../contract.ts';
import type { FindCredentials, HookCredentials } from './credentials.ts';
import type { Hook } from './hook.ts';
import {
  AdmissionReviewError,
  parseReply,
  REVIEW_VERSIONS,
  type ReviewResponse,
  readReview,
  reviewBody,
} from './review.ts';
import type { SeenRequest } from './seen.ts';

export interface HookCaller {
  /** Returns the response of a webhook that allows the request; `undefined` if the call failed and failures are ignored.
   *  @throws StatusError if the webhook rejects the request, or the call failed and failures are not ignored */
  call(hook: Hook, request: AdmissionRequest, seen: SeenRequest): Promise<ReviewResponse | undefined>;
}

export interface HookCallerDeps extends WebhookDeps {
  readonly vocabulary: Vocabulary;
  readonly log: Logger;
  /** Closes the connections. */
  readonly signal: AbortSignal;
  /** Client certificate towards webhooks; none if absent. */
  readonly credentials?: FindCredentials;
}

const REASONS: ReadonlyMap<number, StatusReason> = new Map([
  [401, 'Unauthorized'],
  [403, 'Forbidden'],
  [404, 'NotFound'],
  [409, 'Conflict'],
  [422, 'Invalid'],
  [429, 'TooManyRequests'],
  [500, 'InternalError'],
  [503, 'ServiceUnavailable'],
]);
const LOWEST_CODE = 400;
/** Maximum number of webhooks with pooled connections. */
const MAX_AGENTS = 64;

export function createHookCaller(deps: HookCallerDeps): HookCaller {
  const { vocabulary, log } = deps;
  const agents = new Map<string, Agent>();
  deps.signal.addEventListener('abort', () => agents.forEach((agent) => agent.destroy()), { once: true });

  function agentOf({ client }: Hook, own: HookCredentials | undefined): Agent {
    const key = `${own?.id ?? ''} ${client.caBundle ?? ''}`;
    const known = agents.get(key);
    if (known !== undefined) return known;
    const [oldest] = agents;
    if (agents.size >= MAX_AGENTS && oldest !== undefined) {
      oldest[1].destroy();
      agents.delete(oldest[0]);
    }
    const { cert, key: secret } = own ?? {};
    const shown = cert === undefined || secret === undefined ? {} : { cert, key: secret };
    const made = webhookAgent(client, shown);
    agents.set(key, made);
    return made;
  }

  async function call(hook: Hook, request: AdmissionRequest, seen: SeenRequest): Promise<ReviewResponse> {
    const version = hook.reviewVersions.find((each) => REVIEW_VERSIONS.includes(each));
    if (version === undefined)
      throw new AdmissionReviewError('webhook does not accept known AdmissionReview versions');
    const sent = { uid: randomUUID(), version };
    const turn = turnOf({ signal: request.signal() });
    const review = reviewBody(request, seen, sent, vocabulary);
    const body =
      request.isLarge === true
        ? await finishInTurns(writeJsonSteps(review), turn)
        : Buffer.from(JSON.stringify(review));
    const target = webhookTarget(hook.client, deps);
    const own = deps.credentials?.(target.name, target.port);
    const agent = agentOf(hook, own);
    const response = await callWebhook(deps, target, {
      what: `admission webhook ${JSON.stringify(hook.name)}`,
      body,
      agent,
      timeoutMs: hook.timeoutMs,
      authorization: own?.authorization,
    });
    const reply = await parseReply(response, 'the response is not JSON', turn);
    return readReview(reply, sent, vocabulary, turn);
  }

  return {
    async call(hook, request, seen) {
      if (request.dryRun && !hook.takesDryRuns)
        throw new StatusError(
          'BadRequest',
          `admission webhook ${JSON.stringify(hook.name)} does not support dry run`,
        );
      let response: ReviewResponse;
      try {
        response = await call(hook, request, seen);
      } catch (thrown) {
        // The client is gone, and the work on its object has ended: the webhook has not failed.
        request.signal().throwIfAborted();
        if (hook.ignoresFailure) {
          log.warn({ err: thrown, webhook: hook.name }, 'Failed to call webhook; failing open');
          return undefined;
        }
        const why = `failed calling webhook ${JSON.stringify(hook.name)}: failed to call webhook: ${messageOf(thrown)}`;
        throw new StatusError('InternalError', `Internal error occurred: ${why}`, { cause: thrown });
      }
      for (const text of response.warnings) request.warn(text);
      for (const [key, value] of Object.entries(response.annotations))
        request.annotate(`${hook.name}/${key}`, value);
      if (!response.allowed) throw denial(hook, response);
      return response;
    },
  };
}

/** Status codes of success are invalid in a denial. */
function denial({ name }: Hook, { code = 0, message, reason }: ReviewResponse): StatusError {
  const denied = `admission webhook ${JSON.stringify(name)} denied the request`;
  const why = message === '' ? reason : message;
  const used = code < LOWEST_CODE ? LOWEST_CODE : code;
  return new StatusError(
    REASONS.get(used) ?? 'BadRequest',
    why === '' ? `${denied} without explanation` : `${denied}: ${why}`,
    { code: used },
  );
}
