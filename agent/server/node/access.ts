/** Who gets to the agent's server, and what he may do there. Source: document 3, 5. */
import { asError } from '#api/kit/clock.ts';
import type { Logger } from '#api/kit/logger.ts';
import { attributesOf, type NodeAttributes } from './attributes.ts';
import type { Reviews } from './reviews.ts';
import { ANONYMOUS, asAuthenticated, type NodeUser } from './users.ts';

export interface Credentials {
  /** Of the client's certificate, if that was shown. */
  readonly certificate: CertificateProof | undefined;
  readonly bearerToken: string | undefined;
}

export interface CertificateProof {
  /** By the authorities that are configured, and valid now. */
  readonly isTrusted: boolean;
  readonly user: NodeUser | undefined;
}

/** A refusal, as it is answered. */
export class AccessError extends Error {
  override readonly name = 'AccessError';
  readonly status: 401 | 403 | 500;
  constructor(status: AccessError['status'], message: string, cause?: unknown) {
    super(message, { cause });
    this.status = status;
  }
}

export interface AccessOptions {
  /** Certificates of clients count. */
  readonly certificates: boolean;
  /** Tokens are shown to the API server. */
  readonly tokens: boolean;
  readonly anonymous: boolean;
  readonly mode: 'AlwaysAllow' | 'Webhook';
}

export interface AccessDeps {
  readonly log: Pick<Logger, 'warn'>;
  /** Absent: there is no API server to ask. */
  readonly reviews: Reviews | undefined;
}

/** Lets a request through. @throws AccessError */
export type Admit = (method: string, path: string, credentials: Credentials) => Promise<NodeUser>;

const unauthorized = (cause?: unknown): AccessError => new AccessError(401, 'Unauthorized', cause);

export function createAdmit({ reviews, log }: AccessDeps, options: AccessOptions): Admit {
  async function userOfToken(token: string): Promise<NodeUser> {
    if (reviews === undefined) throw unauthorized(new Error('there is no API server to ask'));
    let user: NodeUser | undefined;
    try {
      user = await reviews.userOfToken(token);
    } catch (thrown) {
      log.warn({ err: asError(thrown) }, 'API server could not be asked about a token');
      throw unauthorized(thrown);
    }
    if (user === undefined) throw unauthorized();
    return user;
  }

  async function identify({ certificate, bearerToken }: Credentials): Promise<NodeUser> {
    if (options.certificates && certificate !== undefined) {
      // A bad certificate is no reason to be taken for somebody else.
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
      log.warn({ err: asError(thrown) }, 'API server could not be asked about a permission');
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
