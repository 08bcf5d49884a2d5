/** Contract of authenticators, which identify the user of a request. They run in order. Source:
 *  authentication, document 2 §5. */
import type { X509Certificate } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';
import type { UserInfo } from '../resources/contract.ts';

export interface AuthenticationRequest {
  readonly headers: IncomingHttpHeaders;
  /** Token from `Authorization: Bearer`, or from a WebSocket subprotocol. */
  readonly bearerToken?: string;
  /** Certificate whose key the client has proved to possess; not yet verified against a CA. */
  readonly certificate?: X509Certificate;
  /** The rest of the chain that the client sent. */
  readonly intermediates: readonly X509Certificate[];
  readonly audiences?: readonly string[];
}

export type AuthenticationResult =
  | { readonly kind: 'user'; readonly user: UserInfo; readonly audiences?: readonly string[] }
  /** The authenticator does not apply to the request. */
  | { readonly kind: 'none' }
  /** A credential was given and is bad; the request fails unless another method takes it. */
  | { readonly kind: 'rejected'; readonly message: string };

export interface Authenticator {
  readonly name: string;
  authenticate(request: AuthenticationRequest): AuthenticationResult | Promise<AuthenticationResult>;
}
