/** Authentication and authorization of requests to the node server.
 *  Source: node API access, document 3 §5. */
import { asError } from '#api/kit/errno.ts';
import type { Logger } from '#api/kit/logger.ts';
import { attributesOf, type NodeAttributes } from './attributes.ts';
import type { Reviews } from './reviews.ts';
import { ANONYMOUS, asAuthenticated, type NodeUser } from './users.ts';

export interface Credentials {
  /** Proof of a client certificate, if one was presented. */
  readonly certificate: CertificateProof | undefined;
  readonly bearerToken: string | undefined;
}

export interface CertificateProof {
  /** Signed by a configured CA, and valid now. */
  readonly isTrusted: boolean;
  readonly user: NodeUser | undefined;
}

/** A rejected request with the status of the response. */
export class AccessError extends Error {
  override readonly name = 'AccessError';
  readonly status: 401 | 403 | 500;
  constructor(status: AccessError['status'], message: string, cause?: unknown) {
    super(message, { cause });
    this.status = status;
  }
}

export interface AccessOptions {
  /** Authenticate client certificates. */
  readonly certificates: boolean;
  /** Authenticate bearer tokens with TokenReviews. */
  readonly tokens: boolean;
  readonly anonymous: boolean;
  readonly mode: 'AlwaysAllow' | 'Webhook';
}

export interface AccessDeps {
  readonly log: Pick<Logger, 'warn'>;
  /** Absent without an API server. */
  readonly reviews: Reviews | undefined;
}

/** Authenticates and authorizes a request. @throws AccessError */
export type Admit = (method: string, path: string, credentials: Credentials) => Promise<NodeUser>;

const unauthorized = (cause?: unknown): AccessError => new AccessError(401, 'Unauthorized', cause);

export function createAdmit({ reviews, log }: AccessDeps, options: AccessOptions): Admit {
  async function userOfToken(token: string): Promise<NodeUser> {
    if (reviews === undefined) throw unauthorized(new Error('no API server is configured'));
    let user: NodeUser | undefined;
    try {
      user = await reviews.userOfToken(token);
    } catch (thrown) {
      log.warn({ err: asError(thrown) }, 'Failed to authenticate token with the API server');
      throw unauthorized(thrown);
    }
    if (user === undefined) throw unauthorized();
    return user;
  }

  async function identify({ certificate, bearerToken }: Credentials): Promise<NodeUser> {
    if (options.certificates && certificate !== undefined) {
      // A request with an untrusted certificate is rejected, not authenticated in another way.
      if (!certificate.isTrusted) throw unauthorized();
      if (certificate.user !== undefined) return asAuthenticated(certificate.user);
    }
    if (options.tokens && bearerToken !== undefined) return asAuthenticated(await userOfToken(bearerToken));
    if (options.anonymous) return ANONYMOUS;
    throw unauthorized();
  }

  async function mayUse(user: NodeUser, attributes: NodeAttributes): Promise<boolean> {
    if (reviews === undefined) return false;
    try {
      return (await reviews.mayUse(user, attributes)).allowed;
    } catch (thrown) {
      log.warn({ err: asError(thrown) }, 'Failed to authorize request with the API server');
      throw new AccessError(500, `Authorization error ${describe(user, attributes)}`, thrown);
    }
  }

  return async (method, path, credentials) => {
    const user = await identify(credentials);
    if (options.mode === 'AlwaysAllow') return user;
    const attributes = attributesOf(method, path);
    if (await mayUse(user, attributes)) return user;
    throw new AccessError(403, `Forbidden ${describe(user, attributes)}`);
  };
}

const describe = ({ name }: NodeUser, { verb, subresource }: NodeAttributes): string =>
  `(user=${name}, verb=${verb}, resource=nodes, subresource=${subresource})`;
