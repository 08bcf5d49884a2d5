/** Asks the methods in turn who a request comes from. Pure composition. Source: document 2, 5.1 and 5.6. */
import type { AuthenticationResult, Authenticator } from './contract.ts';
import { ANONYMOUS, authenticated } from './users.ts';

/** The first method that knows the user decides. A bad credential that no method takes is refused, even where
 *  anonymous requests are let in: it was meant to be good. */
export function createAuthenticationChain(
  methods: readonly Authenticator[],
  { anonymous }: { readonly anonymous: boolean },
): Authenticator {
  return {
    name: 'chain',
    async authenticate(request): Promise<AuthenticationResult> {
      let refused = request.bearerToken === undefined ? '' : 'the bearer token is not known';
      for (const method of methods) {
        const answer = method.authenticate(request);
        const result = answer instanceof Promise ? await answer : answer;
        if (result.kind === 'user') return { ...result, user: authenticated(result.user) };
        if (result.kind === 'rejected') refused = result.message;
      }
      if (refused !== '') return { kind: 'rejected', message: refused };
      return anonymous ? { kind: 'user', user: ANONYMOUS } : { kind: 'none' };
    },
  };
}
