/** Authorization webhook: asks a remote service whether a request is allowed, and caches its decisions. Without a
 *  response it has no opinion. Source: upstream's webhook authorizer, release 1.24. */
import { messageOf } from '#api/kit/error-chain.ts';
import { NO_RESPONSE, type Waits } from '#api/kit/waits.ts';
import type { Vocabulary } from '#api/vocabulary.ts';
import type { Backend } from '../webhooks/backend.ts';
import { isBusy, type RetryDeps, withRetries } from '../webhooks/retry.ts';
import { type ReviewVersion, readDecision, reviewSpecOf, reviewText } from './access-review.ts';
import type { AuthorizationAttributes, Authorizer, Decision, UserRules } from './contract.ts';

export interface WebhookAuthorizerDeps extends RetryDeps {
  readonly backend: Pick<Backend, 'post' | 'url'>;
  readonly vocabulary: Vocabulary;
  /** Reports a slow service. */
  readonly waits?: Pick<Waits, 'during'> | undefined;
}

export interface WebhookAuthorizerOptions {
  readonly version: ReviewVersion;
  /** How long a decision is cached. */
  readonly authorizedTtlMs: number;
  /** Of both denials and no opinion. */
  readonly unauthorizedTtlMs: number;
}

/** Maximum number of cached decisions. */
const MOST_CACHED = 8192;
/** Requests with longer attributes are not cached: their client could fill the memory. */
const MAX_CACHED_LENGTH = 10_000;
const FIRST_DELAY_MS = 500;
const TIMEOUT_MS = 30_000;

const UNKNOWN_RULES: UserRules = {
  resource: [],
  nonResource: [],
  missing: ['webhook authorizer does not support user rule resolution'],
};

interface Cached {
  readonly decision: Decision;
  readonly untilMs: number;
}

/** Length of what the client chooses. */
const lengthOf = (asked: AuthorizationAttributes): number =>
  asked.namespace.length +
  asked.verb.length +
  asked.group.length +
  asked.version.length +
  asked.resource.length +
  asked.subresource.length +
  asked.name.length +
  asked.path.length;

const RESETS: ReadonlySet<unknown> = new Set(['ECONNRESET', 'EPIPE', 'UND_ERR_SOCKET']);

/** Reports whether a retry may succeed: not without a listener, where the delays would add up with each request. */
const isPassing = (thrown: unknown): boolean =>
  isBusy(thrown) || (thrown instanceof Error && 'code' in thrown && RESETS.has(thrown.code));

export function createWebhookAuthorizer(
  deps: WebhookAuthorizerDeps,
  { version, authorizedTtlMs, unauthorizedTtlMs }: WebhookAuthorizerOptions,
): Authorizer {
  const { backend, clock, log, vocabulary, waits } = deps;
  const what = `authorization webhook ${backend.url}`;
  // In order of use: the first is the one that was not used for the longest time.
  const cached = new Map<string, Cached>();

  function findCached(key: string): Decision | undefined {
    const found = cached.get(key);
    if (found === undefined) return undefined;
    cached.delete(key);
    if (found.untilMs <= clock.monotonic()) return undefined;
    cached.set(key, found);
    return found.decision;
  }

  function cache(key: string, decision: Decision): void {
    const ttlMs = decision.effect === 'allow' ? authorizedTtlMs : unauthorizedTtlMs;
    if (ttlMs <= 0) return;
    cached.set(key, { decision, untilMs: clock.monotonic() + ttlMs });
    const [oldest] = cached.keys();
    if (cached.size > MOST_CACHED && oldest !== undefined) cached.delete(oldest);
  }

  async function post(body: string): Promise<Decision> {
    const signal = AbortSignal.timeout(TIMEOUT_MS);
    const response = backend.post(body, signal);
    return readDecision(await (waits?.during(what, response, NO_RESPONSE) ?? response), version, vocabulary);
  }

  function ask(body: string): Promise<Decision> {
    const options = { what: 'authorization webhook', firstDelayMs: FIRST_DELAY_MS, isPassing };
    return withRetries(deps, options, () => post(body), AbortSignal.timeout(TIMEOUT_MS));
  }

  async function decide(asked: AuthorizationAttributes): Promise<Decision> {
    const body = reviewText(reviewSpecOf(asked), version, vocabulary);
    const known = findCached(body);
    if (known !== undefined) return known;
    try {
      const decision = await ask(body);
      if (lengthOf(asked) < MAX_CACHED_LENGTH) cache(body, decision);
      return decision;
    } catch (thrown) {
      log.error({ err: thrown }, 'Failed to call authorization webhook');
      return { effect: 'none', reason: '', error: messageOf(thrown) };
    }
  }

  return { name: 'Webhook', authorize: decide, rulesOf: () => UNKNOWN_RULES };
}
