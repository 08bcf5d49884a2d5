/** What a secret for an account's token needs. Pure. Source: upstream's tokens controller, release 1.24. */
import type { Secret, ServiceAccount } from '#api/schema/gen/core-v1.ts';

export interface TokenSecretWords {
  /** Annotations that name the account of a secret. */
  readonly accountName: string;
  readonly accountUid: string;
}

export type TokenSecretAction =
  | { readonly kind: 'none' }
  /** Its account is gone, or is another one of the same name. */
  | { readonly kind: 'delete' }
  /** Members of `data` to be set; `token` is to be made anew if it is among the missing. */
  | { readonly kind: 'fill'; readonly needsToken: boolean };

export interface TokenContent {
  readonly authority: string;
  readonly namespace: string;
}

const encode = (text: string): string => Buffer.from(text).toString('base64');

/** Type of such secrets. */
export const tokenSecretType = (domain: string): string => `${domain}/service-account-token`;

/** What `data` is to hold. `token`: in base64, taken where there is none yet. */
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

/** `account`: the one that the secret names, as it is now. */
export function decideTokenSecret(
  { metadata, data = {} }: Secret,
  account: ServiceAccount | undefined,
  content: TokenContent,
  words: TokenSecretWords,
): TokenSecretAction {
  const uid = metadata?.annotations?.[words.accountUid] ?? '';
  const accountUid = account?.metadata?.uid ?? '';
  if (account === undefined || (uid !== '' && uid !== accountUid)) return { kind: 'delete' };
  const needsToken = (data['token'] ?? '') === '';
  const isRight = data['ca.crt'] === encode(content.authority) && (data['namespace'] ?? '') !== '';
  return !needsToken && isRight && uid !== '' ? { kind: 'none' } : { kind: 'fill', needsToken };
}
