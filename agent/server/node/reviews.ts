/** Authenticates tokens with TokenReviews and authorizes users with SubjectAccessReviews. Caches responses
 *  for a limited time, but never the tokens themselves.
 *  Source: node API access, document 3 §5; document 2, TokenReview and SubjectAccessReview. */

import { createHmac, randomBytes } from 'node:crypto';
import type { Clock } from '#api/kit/clock.ts';
import { isObject } from '#api/kit/object.ts';
import { createSingleFlight } from '#api/kit/single-flight.ts';
import type { Vocabulary } from '#api/vocabulary.ts';
import type { NodeAttributes } from './attributes.ts';
import { createTtlCache } from './ttl-cache.ts';
import type { NodeUser } from './users.ts';

/** Creates an object on the API server and returns the response as JSON. */
export type CreateReview = (
  address: { readonly apiVersion: string; readonly resource: string },
  object: Readonly<Record<string, unknown>>,
  signal: AbortSignal,
) => Promise<Readonly<Record<string, unknown>>>;

export interface ReviewDeps {
  readonly create: CreateReview;
  readonly clock: Clock;
  readonly vocabulary: Vocabulary;
}

export interface ReviewOptions {
  readonly nodeName: string;
  readonly tokenTtlMs: number;
  readonly allowedTtlMs: number;
  readonly deniedTtlMs: number;
}

export interface AccessDecision {
  readonly allowed: boolean;
  readonly reason: string;
}

export interface Reviews {
  /** Returns the user of the token; `undefined` for an invalid token. Rejects when the API server is
   *  unavailable. */
  readonly userOfToken: (token: string) => Promise<NodeUser | undefined>;
  /** Rejects when the API server is unavailable. */
  readonly mayUse: (user: NodeUser, attributes: NodeAttributes) => Promise<AccessDecision>;
}

/** Maximum wait for the API server. */
const ASK_MS = 10_000;
/** Longer keys are not cached: a client that invents them could exhaust the memory. */
const LONGEST_KEPT_KEY = 10_000;

type Json = Readonly<Record<string, unknown>>;

function objectAt(value: unknown, key: string): Json {
  const found: unknown = isObject(value) ? value[key] : undefined;
  return isObject(found) ? found : {};
}

const texts = (value: unknown): readonly string[] =>
  Array.isArray(value) ? value.filter((text) => typeof text === 'string') : [];

/** Returns the user in the status of a TokenReview. */
export function userOfReview(review: Json): NodeUser | undefined {
  const status = objectAt(review, 'status');
  const user = objectAt(status, 'user');
  const { username, uid } = user;
  if (status['authenticated'] !== true || typeof username !== 'string') return undefined;
  const extra = Object.entries(objectAt(user, 'extra')).map(([key, value]) => [key, texts(value)] as const);
  return {
    name: username,
    ...(typeof uid === 'string' && uid !== '' ? { uid } : {}),
    groups: texts(user['groups']),
    extra: Object.fromEntries(extra),
  };
}

/** Returns the decision in the status of a SubjectAccessReview. */
export function decisionOfReview(review: Json): AccessDecision {
  const { allowed, denied, reason } = objectAt(review, 'status');
  return {
    allowed: allowed === true && denied !== true,
    reason: typeof reason === 'string' ? reason : '',
  };
}

export function createReviews({ create, clock, vocabulary }: ReviewDeps, options: ReviewOptions): Reviews {
  const { apiGroupDomain } = vocabulary;
  const signal = (): AbortSignal => AbortSignal.timeout(ASK_MS);
  const secret = randomBytes(32);
  const tokens = createTtlCache<{ readonly user: NodeUser | undefined }>(clock);
  const decisions = createTtlCache<AccessDecision>(clock);
  const tokenFlights = createSingleFlight<NodeUser | undefined>();
  const accessFlights = createSingleFlight<AccessDecision>();

  async function askToken(token: string, key: string): Promise<NodeUser | undefined> {
    const apiVersion = `authentication.${apiGroupDomain}/v1`;
    const review = await create(
      { apiVersion, resource: 'tokenreviews' },
      { apiVersion, kind: 'TokenReview', metadata: {}, spec: { token } },
      signal(),
    );
    const user = userOfReview(review);
    tokens.set(key, { user }, options.tokenTtlMs);
    return user;
  }

  async function askAccess(spec: Json, key: string): Promise<AccessDecision> {
    const apiVersion = `authorization.${apiGroupDomain}/v1`;
    const review = await create(
      { apiVersion, resource: 'subjectaccessreviews' },
      { apiVersion, kind: 'SubjectAccessReview', metadata: {}, spec },
      signal(),
    );
    const decision = decisionOfReview(review);
    const ttlMs = decision.allowed ? options.allowedTtlMs : options.deniedTtlMs;
    if (key.length <= LONGEST_KEPT_KEY) decisions.set(key, decision, ttlMs);
    return decision;
  }

  return {
    userOfToken(token) {
      const key = createHmac('sha256', secret).update(token).digest('base64');
      const known = tokens.get(key);
      if (known !== undefined) return Promise.resolve(known.user);
      return tokenFlights.run(key, () => askToken(token, key), signal());
    },
    mayUse(user, { verb, subresource }) {
      const { name, uid, groups, extra } = user;
      const spec = {
        resourceAttributes: { verb, version: 'v1', resource: 'nodes', subresource, name: options.nodeName },
        user: name,
        groups,
        ...(uid === undefined ? {} : { uid }),
        ...(Object.keys(extra).length === 0 ? {} : { extra }),
      };
      const key = JSON.stringify(spec);
      const known = decisions.get(key);
      if (known !== undefined) return Promise.resolve(known);
      return accessFlights.run(key, () => askAccess(spec, key), signal());
    },
  };
}
