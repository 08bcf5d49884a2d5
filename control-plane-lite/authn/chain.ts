/** Asks the methods in turn who a request comes from. Pure composition. Source: document 2, 5.1 and 5.6. */
import { StatusError } from '#api/meta/status-error.ts';
import type { UserInfo } from '../resources/contract.ts';
import type { AuthenticationRequest, Authenticator } from './contract.ts';
import { ANONYMOUS, authenticated } from './users.ts';

export interface AuthenticationChain {
  /** @throws StatusError Unauthorized */
  authenticate(request: AuthenticationRequest): Promise<UserInfo>;
}

/** The first method that knows the user decides. A bad credential that no method takes is refused, even where
 *  anonymous requests are let in: it was meant to be good. */
export function createAuthenticationChain(
  methods: readonly Authenticator[],
  { anonymous }: { readonly anonymous: boolean },
): AuthenticationChain {
  return {
    async authenticate(request) {
      let refused = request.bearerToken !== undefined;
      for (const method of methods) {
        const result = await method.authenticate(request);
        if (result.kind === 'user') return authenticated(result.user);
        if (result.kind === 'rejected') refused = true;
      }
      if (refused || !anonymous) throw new StatusError('Unauthorized', 'Unauthorized');
      return ANONYMOUS;
    },
  };
}
