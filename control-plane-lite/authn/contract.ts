/** Contract of authenticators, which identify the user of a request. They run in order. Source:
 *  authentication, document 2 §5. */
import type { X509Certificate } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';
import type { UserInfo } from '../resources/contract.ts';

export interface AuthenticationRequest {
  readonly headers: IncomingHttpHeaders;
  /** Names and values of the headers as received; absent if there are none. */
  readonly rawHeaders?: readonly string[];
  /** Token from `Authorization: Bearer`, or from a WebSocket subprotocol. */
  readonly bearerToken?: string;
  /** Certificate whose key the client has proved to possess; not yet verified against a CA. */
  readonly certificate?: X509Certificate;
  /** The rest of the chain that the client sent. */
  readonly intermediates: readonly X509Certificate[];
  /** Audiences that a token must be valid for one of. Default: those of the server. */
  readonly audiences?: readonly string[];
  /** Client that costly verifications are accounted to, such as its address. */
  readonly flow?: string;
}

export type AuthenticationResult =
  | AuthenticatedUser
  /** The authenticator does not apply to the request. */
  | { readonly kind: 'none' }
  /** A credential was given and is bad; the request fails unless another method takes it. */
  | {
      readonly kind: 'rejected';
      readonly message: string;
      /** The cause may pass, such as an unavailable server: the result must not be cached. */
      readonly transient?: boolean;
    };

export interface AuthenticatedUser {
  readonly kind: 'user';
  readonly user: UserInfo;
  readonly audiences?: readonly string[];
  /** Wall time, in ms, at which the credential expires. */
  readonly expiresMs?: number;
  /** Annotations for the audit event of the request. */
  readonly annotations?: Readonly<Record<string, string>>;
  /** Reports whether a header, in lower case, has identified the user; later steps must not see it. */
  readonly consumes?: (header: string) => boolean;
}

export interface Authenticator {
  readonly name: string;
  authenticate(request: AuthenticationRequest): AuthenticationResult | Promise<AuthenticationResult>;
}

/** Bounds costly work, and shares it fairly among the clients that cause it. */
export interface Gate {
  /** Runs `task` once a slot is free. @throws Error if too many tasks wait */
  run<T>(flow: string, task: () => Promise<T>): Promise<T>;
}

export const NOT_APPLICABLE: AuthenticationResult = { kind: 'none' };

export const rejected = (message: string): AuthenticationResult => ({ kind: 'rejected', message });

export const unavailable = (message: string): AuthenticationResult => ({
  kind: 'rejected',
  message,
  transient: true,
});
