/** Runs the authenticators in order until one identifies the user. Pure composition. Source: authentication,
 *  document 2 §5.1 and §5.6. */
import type { AuthenticationResult, Authenticator } from './contract.ts';
import { ANONYMOUS, authenticated } from './users.ts';

/** The first authenticator that identifies the user decides. A bad credential that no authenticator accepts
 *  is rejected even where anonymous requests are allowed: the client did not mean to be anonymous. */
export function createAuthenticationChain(
  methods: readonly Authenticator[],
  { anonymous }: { readonly anonymous: boolean },
): Authenticator {
  return {
    name: 'chain',
    async authenticate(request): Promise<AuthenticationResult> {
      let refused = request.bearerToken === undefined ? '' : 'the bearer token is unknown';
      for (const method of methods) {
        const outcome = method.authenticate(request);
        const result = outcome instanceof Promise ? await outcome : outcome;
        if (result.kind === 'user') return { ...result, user: authenticated(result.user) };
        if (result.kind === 'rejected') refused = result.message;
      }
      if (refused !== '') return { kind: 'rejected', message: refused };
      return anonymous ? { kind: 'user', user: ANONYMOUS } : { kind: 'none' };
    },
  };
}
