/** Token webhook: lets a remote service identify the user of a token. Retries while the service has a passing
 *  problem. Source: token authentication webhook, document 2 §5.4; upstream's webhook authenticator. */
import { type Clock, sleep } from '#api/kit/clock.ts';
import { messageOf } from '#api/kit/error-chain.ts';
import type { Logger } from '#api/kit/logger.ts';
import { NO_RESPONSE, type Waits } from '#api/kit/waits.ts';
import { type Backend, BackendError } from '../../webhooks/backend.ts';
import {
  type AuthenticationResult,
  type Authenticator,
  type Gate,
  NOT_APPLICABLE,
  rejected,
  unavailable,
} from '../contract.ts';
import { formatReview, parseReview, type TokenVerdict } from './review.ts';

export interface TokenWebhookDeps {
  readonly backend: Pick<Backend, 'post' | 'url'>;
  readonly clock: Clock;
  readonly log: Pick<Logger, 'warn'>;
  /** Reports a slow service. */
  readonly waits?: Pick<Waits, 'during'> | undefined;
  /** Bounds concurrent calls. */
  readonly calls: Gate;
  /** Returns a random number from 0 to 1. */
  readonly random: () => number;
}

export interface TokenWebhookOptions {
  /** Version of TokenReview that is sent, with its group. */
  readonly apiVersion: string;
  /** Audiences of this server. */
  readonly audiences: readonly string[];
}

/** Attempts and their delays, as upstream. */
const ATTEMPTS = 5;
const FIRST_DELAY_MS = 500;
const FACTOR = 1.5;
const JITTER = 0.2;
/** Time for all attempts together. */
const TIMEOUT_MS = 30_000;

const RETRIED: ReadonlySet<number> = new Set([429, 500, 504]);

/** Reports whether a retry may succeed, as upstream decides it. */
function isRetried(thrown: unknown): boolean {
  if (thrown instanceof BackendError) return RETRIED.has(thrown.status) || thrown.suggestsRetry;
  const code = thrown instanceof Error && 'code' in thrown ? thrown.code : undefined;
  return code === 'ECONNRESET' || code === 'UND_ERR_SOCKET';
}

const common = (a: readonly string[], b: readonly string[]): readonly string[] =>
  a.filter((each) => b.includes(each));

/** Returns the result of a verdict. A webhook that names no audiences vouches for those of this server. */
function resultOf(
  verdict: TokenVerdict,
  wanted: readonly string[],
  implicit: readonly string[],
): AuthenticationResult {
  const audiences = common(wanted, verdict.audiences.length === 0 ? implicit : verdict.audiences);
  if (audiences.length === 0 && wanted.length > 0) return NOT_APPLICABLE;
  if (verdict.kind === 'user') return { kind: 'user', user: verdict.user, audiences };
  return verdict.error === '' ? NOT_APPLICABLE : rejected(verdict.error);
}

export function createTokenWebhookAuthenticator(
  deps: TokenWebhookDeps,
  { apiVersion, audiences: implicit }: TokenWebhookOptions,
): Authenticator {
  const { backend, clock, log, waits, calls, random } = deps;

  async function send(body: string, signal: AbortSignal): Promise<TokenVerdict> {
    let delayMs = FIRST_DELAY_MS;
    for (let attempt = 1; ; attempt += 1) {
      try {
        const response = backend.post(body, signal);
        const what = `token webhook ${backend.url}`;
        return parseReview(await (waits?.during(what, response, NO_RESPONSE) ?? response), apiVersion);
      } catch (thrown) {
        if (signal.aborted || attempt === ATTEMPTS || !isRetried(thrown)) throw thrown;
      }
      await sleep(clock, delayMs * (1 + JITTER * random()), signal);
      delayMs *= FACTOR;
    }
  }

  return {
    name: 'token-webhook',
    async authenticate({ bearerToken, audiences = implicit, flow = '' }) {
      if (bearerToken === undefined) return NOT_APPLICABLE;
      const body = formatReview(apiVersion, bearerToken, audiences);
      try {
        const verdict = await calls.run(flow, () => send(body, AbortSignal.timeout(TIMEOUT_MS)));
        return resultOf(verdict, audiences, implicit);
      } catch (err) {
        log.warn({ err, url: backend.url }, 'Failed to call token webhook');
        return unavailable(`token webhook: ${messageOf(err)}`);
      }
    },
  };
}
