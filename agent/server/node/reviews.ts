/** Asks the API server who a token belongs to, and what a user may do with this node. Answers are kept for a time;
 *  tokens themselves are not kept. Source: document 3, 5; document 2, TokenReview and SubjectAccessReview. */
import { createHmac, randomBytes } from 'node:crypto';
import type { Clock } from '#api/kit/clock.ts';
import { createSingleFlight } from '#api/kit/single-flight.ts';
import type { Vocabulary } from '#api/vocabulary.ts';
import type { NodeAttributes } from './attributes.ts';
import { createTtlCache } from './ttl-cache.ts';
import type { NodeUser } from './users.ts';

/** Creates an object on the API server and gives what that made of it, as JSON. */
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

export interface AccessAnswer {
  readonly allowed: boolean;
  readonly reason: string;
}

export interface Reviews {
  /** Whose token it is; `undefined` if it is nobody's. Rejects when the API server can't be asked. */
  readonly userOfToken: (token: string) => Promise<NodeUser | undefined>;
  /** Rejects when the API server can't be asked. */
  readonly mayUse: (user: NodeUser, attributes: NodeAttributes) => Promise<AccessAnswer>;
}

/** Longest wait for the API server. */
const ASK_MS = 10_000;
/** Requests that name more than this are not kept: who makes them up would fill the memory. */
const LONGEST_KEPT_KEY = 10_000;

type Json = Readonly<Record<string, unknown>>;

function objectAt(value: unknown, key: string): Json {
  const found: unknown = isObject(value) ? value[key] : undefined;
  return isObject(found) ? found : {};
}

const isObject = (value: unknown): value is Json =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

const texts = (value: unknown): readonly string[] =>
  Array.isArray(value) ? value.filter((text) => typeof text === 'string') : [];

/** The user in an answered TokenReview. */
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

/** What an answered SubjectAccessReview says. */
export function answerOfReview(review: Json): AccessAnswer {
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
  const answers = createTtlCache<AccessAnswer>(clock);
  const tokenFlights = createSingleFlight<NodeUser | undefined>();
  const accessFlights = createSingleFlight<AccessAnswer>();

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

  async function askAccess(spec: Json, key: string): Promise<AccessAnswer> {
    const apiVersion = `authorization.${apiGroupDomain}/v1`;
    const review = await create(
      { apiVersion, resource: 'subjectaccessreviews' },
      { apiVersion, kind: 'SubjectAccessReview', metadata: {}, spec },
      signal(),
    );
    const answer = answerOfReview(review);
    const ttlMs = answer.allowed ? options.allowedTtlMs : options.deniedTtlMs;
    if (key.length <= LONGEST_KEPT_KEY) answers.set(key, answer, ttlMs);
    return answer;
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
      const known = answers.get(key);
      if (known !== undefined) return Promise.resolve(known);
      return accessFlights.run(key, () => askAccess(spec, key), signal());
    },
  };
}
