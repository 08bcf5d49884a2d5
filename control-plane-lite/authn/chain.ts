/** Runs the authenticators in order until one identifies the user. Pure composition. Source: authentication,
 *  document 2 §5.1 and §5.6. */
import type { AuthenticationResult, Authenticator } from './contract.ts';
import { ANONYMOUS, authenticated } from './users.ts';

/** The first authenticator that identifies the user decides. A bad credential that no authenticator accepts
 *  is rejected even where anonymous requests are allowed: the client did not mean to be anonymous. The message
 *  has the reasons of all authenticators. */
export function createAuthenticationChain(
  methods: readonly Authenticator[],
  { anonymous }: { readonly anonymous: boolean },
): Authenticator {
  return {
    name: 'chain',
    async authenticate(request): Promise<AuthenticationResult> {
      let refused = '';
      for (const method of methods) {
        const outcome = method.authenticate(request);
        const result = outcome instanceof Promise ? await outcome : outcome;
        if (result.kind === 'user') return { ...result, user: authenticated(result.user) };
        if (result.kind === 'rejected') refused += refused === '' ? result.message : `; ${result.message}`;
      }
      if (refused !== '') return { kind: 'rejected', message: refused };
      if (request.bearerToken !== undefined) return { kind: 'rejected', message: 'invalid bearer token' };
      return anonymous ? { kind: 'user', user: ANONYMOUS } : { kind: 'none' };
    },
  };
}

/** Wraps a method that knows nothing of audiences: its users are valid for the audiences of the server. */
export function forAudiences(implicit: readonly string[], method: Authenticator): Authenticator {
  const withAudiences = (result: AuthenticationResult, audiences: readonly string[]): AuthenticationResult =>
    result.kind === 'user' ? { ...result, audiences } : result;
  return {
    name: method.name,
    authenticate(request) {
      const { audiences } = request;
      if (audiences === undefined) return method.authenticate(request);
      const meant = implicit.filter((audience) => audiences.includes(audience));
      if (meant.length === 0) return { kind: 'none' };
      const outcome = method.authenticate(request);
      return outcome instanceof Promise
        ? outcome.then((result) => withAudiences(result, meant))
        : withAudiences(outcome, meant);
    },
  };
}
