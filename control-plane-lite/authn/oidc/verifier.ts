/** Verifies ID tokens of one provider: signature, issuer, audience and validity. */

import type { Clock } from '#api/kit/clock.ts';
import { messageOf } from '#api/kit/error-chain.ts';
import type { Gate } from '../contract.ts';
import type { Claims, UnverifiedToken } from '../jwt.ts';
import { tokenError } from './claims.ts';
import type { Provider, SignatureResult } from './provider.ts';

export type Verified =
  | { readonly kind: 'claims'; readonly claims: Claims }
  | { readonly kind: 'rejected'; readonly message: string }
  | { readonly kind: 'unavailable'; readonly message: string };

export interface VerifierDeps {
  readonly clock: Clock;
  readonly clientId: string;
  /** Bounds concurrent verifications of signatures. */
  readonly verifications: Gate;
  /** Bounds concurrent calls of providers. */
  readonly calls: Gate;
}

const unavailable = (why: string): Verified => ({ kind: 'unavailable', message: `oidc: ${why}` });
const rejected = (why: string): Verified => ({ kind: 'rejected', message: `oidc: verify token: ${why}` });

/** Verifies the signature. Keys are loaded again if no known one signed the token. @throws Error if that fails */
async function verifySignature(
  { verifications, calls }: VerifierDeps,
  provider: Provider,
  token: UnverifiedToken,
  flow: string,
): Promise<SignatureResult> {
  const verify = (): Promise<SignatureResult> => verifications.run(flow, () => provider.verify(token));
  const result = await verify();
  if (result === 'good') return result;
  return (await calls.run(flow, () => provider.refresh())) ? verify() : result;
}

/** @param flow client that the work is accounted to */
export async function verifyToken(
  deps: VerifierDeps,
  provider: Provider,
  token: UnverifiedToken,
  flow: string,
): Promise<Verified> {
  const { clock, clientId } = deps;
  const error = tokenError(token.claims, { issuer: provider.issuer, clientId }, clock.now());
  if (error !== undefined) return rejected(error);
  try {
    const result = await verifySignature(deps, provider, token, flow);
    if (result === 'good') return { kind: 'claims', claims: token.claims };
    return result === 'undiscovered'
      ? unavailable('authenticator not initialized')
      : rejected('failed to verify id token signature');
  } catch (thrown) {
    return unavailable(messageOf(thrown));
  }
}
