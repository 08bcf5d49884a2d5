/** Decisions about a service account token Secret. Pure. Source: upstream's tokens controller, release
 *  1.24. */
import type { Secret, ServiceAccount } from '#api/gen/core-v1.ts';

export interface TokenSecretNames {
  /** Annotations that name the account of a secret. */
  readonly accountName: string;
  readonly accountUid: string;
}

export type TokenSecretAction =
  | { readonly kind: 'none' }
  /** Its account was deleted, or replaced by another of the same name. */
  | { readonly kind: 'delete' }
  /** Fields of `data` to set; if `token` is missing, a new one is issued. */
  | { readonly kind: 'fill'; readonly needsToken: boolean };

export interface TokenContent {
  readonly authority: string;
  readonly namespace: string;
}

const encode = (text: string): string => Buffer.from(text).toString('base64');

/** Type of such secrets. */
export const tokenSecretType = (domain: string): string => `${domain}/service-account-token`;

/** Desired `data`. `token`: in base64, used where none is set yet. */
export function filledData(
  { data = {} }: Secret,
  { authority, namespace }: TokenContent,
  token: string,
): Record<string, string> {
  const { token: held = '', namespace: heldNamespace = '' } = data;
  return {
    ...data,
    'ca.crt': encode(authority),
    namespace: heldNamespace === '' ? encode(namespace) : heldNamespace,
    token: held === '' ? token : held,
  };
}

/** `account`: the current account that the secret names. */
export function decideTokenSecret(
  { metadata, data = {} }: Secret,
  account: ServiceAccount | undefined,
  content: TokenContent,
  names: TokenSecretNames,
): TokenSecretAction {
  const uid = metadata?.annotations?.[names.accountUid] ?? '';
  const accountUid = account?.metadata?.uid ?? '';
  if (account === undefined || (uid !== '' && uid !== accountUid)) return { kind: 'delete' };
  const needsToken = (data['token'] ?? '') === '';
  const isRight = data['ca.crt'] === encode(content.authority) && (data['namespace'] ?? '') !== '';
  return !needsToken && isRight && uid !== '' ? { kind: 'none' } : { kind: 'fill', needsToken };
}
