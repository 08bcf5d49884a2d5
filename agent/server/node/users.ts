/** Identity of a client of the node server. */
import type { X509Certificate } from 'node:crypto';

export interface NodeUser {
  readonly name: string;
  readonly uid?: string;
  readonly groups: readonly string[];
  readonly extra: Readonly<Record<string, readonly string[]>>;
}

export const AUTHENTICATED = 'system:authenticated';

export const ANONYMOUS: NodeUser = {
  name: 'system:anonymous',
  groups: ['system:unauthenticated'],
  extra: {},
};

const texts = (value: unknown): readonly string[] =>
  (Array.isArray(value) ? value : [value]).filter((text) => typeof text === 'string');

/** The common name is the user, organizations are the groups; undefined without a common name. */
export function userOfCertificate(certificate: X509Certificate): NodeUser | undefined {
  const subject = new Map<string, unknown>(Object.entries(certificate.toLegacyObject().subject));
  const [name = ''] = texts(subject.get('CN'));
  return name === '' ? undefined : { name, groups: texts(subject.get('O')), extra: {} };
}

/** Adds the group of all authenticated users. */
export function asAuthenticated(user: NodeUser): NodeUser {
  if (user.groups.includes(AUTHENTICATED)) return user;
  return { ...user, groups: [...user.groups, AUTHENTICATED] };
}
